#include "quantizers/awq/device/objective_on_device.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "quantizers/awq/device/rounding_by_kernel.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kHeldRows = 2048;     // of a weight, whose errors are held at a time
constexpr int64_t kGramColumns = 1024;  // of the Gram matrix, multiplied at a time

// d G d' for each row d of `errors` [rows, columns], float64 [rows]. Because G is symmetric, this
// is the sum over block columns b of (2 d G[:b, b] + d_b G[b, b]) . d_b.
at::Tensor quadratic_forms(const at::Tensor& errors, const at::Tensor& gram) {
  at::Tensor sums = at::zeros({errors.size(0)}, gram.options());
  for (int64_t begin = 0; begin < gram.size(1); begin += kGramColumns) {
    const int64_t size = std::min(kGramColumns, gram.size(1) - begin);
    const at::Tensor block = gram.narrow(1, begin, size);
    const at::Tensor own = errors.narrow(1, begin, size);
    const at::Tensor product = matrix::product(own, block.narrow(0, begin, size));
    if (begin > 0) {
      matrix::add_product(product, errors.narrow(1, 0, begin), block.narrow(0, 0, begin), 2);
    }
    sums.add_(product.mul_(own).sum(1));
  }
  return sums;
}

class ObjectiveOnDevice final : public GramObjective {
 public:
  explicit ObjectiveOnDevice(at::Tensor gram) : gram_(std::move(gram)) {}
  double error(const ScaledWeight& weight, std::span<const double> scale,
               const Limits& limits) const override;
  Limits best_limits(const ScaledWeight& weight, std::span<const double> scale, int64_t levels,
                     int64_t steps) const override;

 private:
  // The same for each group's own columns, float64 [rows, groups].
  at::Tensor group_forms(const at::Tensor& errors, Groups groups) const;

  at::Tensor gram_;
};

double ObjectiveOnDevice::error(const ScaledWeight& weight, std::span<const double> scale,
                                const Limits& limits) const {
  const RoundingByKernel rounding(weight, scale);
  at::Tensor sum = at::zeros({}, gram_.options());
  for (int64_t first = 0; first < weight.rows; first += kHeldRows) {
    kit::check_cancelled();
    const at::Tensor errors =
        rounding.errors(limits, first, std::min(kHeldRows, weight.rows - first)).to(at::kDouble);
    sum.add_(quadratic_forms(errors, gram_).sum());
  }
  return sum.item<double>();
}

at::Tensor ObjectiveOnDevice::group_forms(const at::Tensor& errors, Groups groups) const {
  at::Tensor sums = at::empty({errors.size(0), groups.count}, gram_.options());
  for (int64_t g = 0; g < groups.count; ++g) {
    const int64_t begin = g * groups.size;
    const int64_t size = std::min(groups.size, errors.size(1) - begin);
    sums.select(1, g).copy_(quadratic_forms(errors.narrow(1, begin, size),
                                            gram_.narrow(0, begin, size).narrow(1, begin, size)));
  }
  return sums;
}

Limits ObjectiveOnDevice::best_limits(const ScaledWeight& weight, std::span<const double> scale,
                                      int64_t levels, int64_t steps) const {
  const RoundingByKernel rounding(weight, scale);
  at::Tensor limits = rounding.magnitudes();
  for (int64_t first = 0; first < weight.rows; first += kHeldRows) {
    const int64_t count = std::min(kHeldRows, weight.rows - first);
    at::Tensor least;
    at::Tensor parts = at::ones({count, weight.groups.count}, gram_.options());
    for (int64_t level = 0; level < levels; ++level) {
      kit::check_cancelled();
      const double part = 1 - static_cast<double>(level) / static_cast<double>(steps);
      const at::Tensor errors = rounding.clipped_errors(part, first, count).to(at::kDouble);
      const at::Tensor sums = group_forms(errors, weight.groups);
      if (level > 0) {
        const at::Tensor better = sums.lt(least);
        parts.masked_fill_(better, part);
        least = at::where(better, sums, least);
      } else {
        least = sums;
      }
    }
    limits.narrow(0, first, count).mul_(parts);
  }
  Limits found(static_cast<size_t>(limits.numel()));
  take(limits, found);
  return found;
}

}  // namespace

std::unique_ptr<GramObjective> objective_on_device(const at::Tensor& gram) {
  return std::make_unique<ObjectiveOnDevice>(gram);
}

// Errors of rows as the kernel gives them and in float64, and a product of them with a part of the
// Gram matrix.
uint64_t objective_bytes_on_device(uint64_t rows, uint64_t columns) {
  const uint64_t held = std::min(rows, static_cast<uint64_t>(kHeldRows));
  return held * columns * (sizeof(float) + sizeof(double)) +
         held * std::min(columns, static_cast<uint64_t>(kGramColumns)) * sizeof(double);
}

}  // namespace quench::quantizers
