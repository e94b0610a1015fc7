#include "train/gradient_norm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/error.hpp"
#include "core/plugin/service_tables.hpp"

namespace quench {

namespace {

constexpr uint64_t kChunk = uint64_t{1} << 16;
constexpr size_t kLanes = 16;  // sums side by side, so that they fit vector registers

double sum_of_squares(const float* values, size_t count) {
  std::array<double, kLanes> sums{};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  for (; i < count; ++i) {
    const double value = values[i];
    sums[i % kLanes] += value * value;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

struct Work {
  std::span<const float> values;
  std::vector<double> sums;

  static quench_status run(void* user, uint64_t begin, uint64_t end) noexcept {
    auto& self = *static_cast<Work*>(user);
    self.sums[begin / kChunk] = sum_of_squares(self.values.data() + begin, end - begin);
    return QUENCH_OK;
  }
};

}  // namespace

double gradient_norm(std::span<const float> gradient, uint32_t threads) {
  Work work{gradient, std::vector<double>((gradient.size() + kChunk - 1) / kChunk)};
  const quench_status status = parallel_for(threads, gradient.size(), kChunk, Work::run, &work);
  if (status != QUENCH_OK) {
    fail(status, "gradient norm: the task scheduler failed");
  }
  return std::sqrt(std::accumulate(work.sums.begin(), work.sums.end(), 0.0));
}

}  // namespace quench
