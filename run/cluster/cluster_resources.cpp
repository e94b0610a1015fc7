#include "run/cluster/cluster_resources.hpp"

#include <algorithm>
#include <cmath>

namespace quench {

uint64_t requested_memory(uint64_t predicted_bytes) {
  constexpr uint64_t kGibi = uint64_t{1} << 30;
  const uint64_t with_room = predicted_bytes + predicted_bytes / 4;
  return std::max<uint64_t>(1, (with_room + kGibi - 1) / kGibi) * kGibi;
}

uint64_t requested_seconds(double expected_seconds) {
  constexpr double kStep = 600;
  constexpr double kLeast = 3;     // steps
  constexpr double kMost = 52704;  // steps: 366 days
  const double steps = std::ceil(2 * std::max(0.0, expected_seconds) / kStep);
  return static_cast<uint64_t>(std::clamp(steps, kLeast, kMost)) * static_cast<uint64_t>(kStep);
}

}  // namespace quench
