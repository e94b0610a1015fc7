// Identifies the host's own arithmetic in content keys.
#pragma once

#include <string_view>

namespace quench {

// The build id of the library `arithmetic`: 40 hexadecimal digits that depend on its object code
// alone, so nothing else in the program changes it.
std::string_view arithmetic_build_id();

}  // namespace quench
