// Formats times for people.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace quench {

// "0.4 s", "42 s", "3 min 05 s", "2 h 10 min".
inline std::string duration_text(double seconds) {
  if (seconds < 9.95) {
    return fmt::format("{:.1f} s", seconds);
  }
  const auto whole = std::llround(seconds);
  if (whole < 60) {
    return fmt::format("{} s", whole);
  }
  if (whole < 3600) {
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace quench
