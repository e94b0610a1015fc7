// Shapes that groups of columns fit.
#pragma once

#include <cstdint>
#include <string>

namespace quench::formats {

// Why `in` columns do not fall into groups of `group_size`, or "".
std::string group_fault(const std::string& format, int64_t group_size, int64_t in);

}  // namespace quench::formats
