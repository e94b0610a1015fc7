#include "train/gradient_norm.hpp"

#include <vector>

#include "core/arithmetic/gradient_clipping.hpp"
#include "core/error.hpp"
#include "core/plugin/services/service_tables.hpp"

namespace quench {

namespace {

struct Work {
  std::span<const float> values;
  std::vector<double> sums;

  static quench_status run(void* user, uint64_t begin, uint64_t end) noexcept {
    auto& self = *static_cast<Work*>(user);
    self.sums[begin / kGradientChunk] = sum_of_squares(self.values.subspan(begin, end - begin));
    return QUENCH_OK;
  }
};

}  // namespace

double gradient_norm(std::span<const float> gradient, uint32_t threads) {
  Work work{gradient, std::vector<double>((gradient.size() + kGradientChunk - 1) / kGradientChunk)};
  const quench_status status =
      parallel_for(threads, gradient.size(), kGradientChunk, Work::run, &work);
  if (status != QUENCH_OK) {
    fail(status, "gradient norm: the task scheduler failed");
  }
  return norm_of_sums(work.sums);
}

}  // namespace quench
