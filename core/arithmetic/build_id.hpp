// Names the host's own arithmetic, for content keys.
#pragma once

#include <string_view>

namespace quench {

// The build id of the library `arithmetic`: 40 hexadecimal digits that follow from its object code
// alone, so nothing else in the program changes it.
std::string_view arithmetic_build_id();

}  // namespace quench
