#include "formats/packed/group_fault.hpp"

#include <fmt/format.h>

namespace quench::formats {

std::string group_fault(const std::string& format, int64_t group_size, int64_t in) {
  return group_size != -1 && in % group_size != 0
             ? fmt::format("{} input columns; {} wants a multiple of the group size, {}", in,
                           format, group_size)
             : "";
}

}  // namespace quench::formats
