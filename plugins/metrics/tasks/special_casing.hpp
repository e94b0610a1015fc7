// Characters whose upper or title case consists of several characters.
#pragma once

#include <cstdint>
#include <string_view>

namespace quench::tasks {

// In UTF-8.
struct SpecialCase {
  int32_t code;
  std::string_view upper;
  std::string_view title;
};

// nullptr for a character whose cases are single characters.
const SpecialCase* special_case(int32_t code);

}  // namespace quench::tasks
