// Formats amounts of bytes for people.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace quench {

// "0.3 MiB", "12.5 MiB", "5.9 GiB".
inline std::string bytes_text(uint64_t bytes) {
  constexpr double kMebi = 1024.0 * 1024.0;
  const double mebibytes = static_cast<double>(bytes) / kMebi;
  return mebibytes < 1024 ? fmt::format("{:.1f} MiB", mebibytes)
                          : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

}  // namespace quench
