// Formats times and amounts of bytes for people.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace quench {

// "0.4 s", "42 s", "3 min 05 s", "2 h 10 min".
inline std::string duration_text(double seconds) {
  if (seconds < 0.05) {
    return "< 0.1 s";
  }
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

// "0.3 MiB", "12.5 MiB", "5.9 GiB".
inline std::string bytes_text(uint64_t bytes) {
  constexpr double kMebi = 1024.0 * 1024.0;
  const double mebibytes = static_cast<double>(bytes) / kMebi;
  return mebibytes < 1024 ? fmt::format("{:.1f} MiB", mebibytes)
                          : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

}  // namespace quench
