#include "quantizers/awq/objective.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "quantizers/awq/device/objective_on_device.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kRows = 512;
constexpr int64_t kColumns = 256;
constexpr uint64_t kRowGrain = 32;

// The sum of a * b for each row, in float64, in the order of columns. `a` [rows, columns] in C
// order; the rows of `b` lie `stride` apart.
void add_row_products(const at::Tensor& a, const float* b, int64_t stride,
                      std::vector<double>& sums) {
  const float* values = a.const_data_ptr<float>();
  const int64_t columns = a.size(1);
  kit::parallel_for(sums.size(), kRowGrain, [&](uint64_t begin, uint64_t end) {
    for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
      double sum = 0;
      for (int64_t c = 0; c < columns; ++c) {
        sum += static_cast<double>(values[r * columns + c]) * b[r * stride + c];
      }
      sums[static_cast<size_t>(r)] += sum;
    }
  });
}

// The largest magnitude in the rows.
float largest_of(const at::Tensor& rows) {
  const float* values = rows.const_data_ptr<float>();
  const auto columns = static_cast<uint64_t>(rows.size(1));
  std::vector<float> found(static_cast<size_t>(rows.size(0)));
  kit::parallel_for(found.size(), kRowGrain, [&](uint64_t begin, uint64_t end) {
    for (uint64_t r = begin; r < end; ++r) {
      float largest = 0;
      for (uint64_t c = 0; c < columns; ++c) {
        largest = std::max(largest, std::fabs(values[r * columns + c]));
      }
      found[r] = largest;
    }
  });
  return *std::max_element(found.begin(), found.end());
}

// Because G is symmetric, half of the products of D with G suffice.
class ObjectiveOnHost final : public GramObjective {
 public:
  explicit ObjectiveOnHost(const at::Tensor& gram);
  double error(const ScaledWeight& weight, std::span<const double> scale,
               const Limits& limits) const override;
  Limits best_limits(const ScaledWeight& weight, std::span<const double> scale, int64_t levels,
                     int64_t steps) const override;

 private:
  // d G d' for each row d of `errors`, which is overwritten.
  std::vector<double> quadratic_forms(at::Tensor& errors, const at::Tensor& gram) const;

  double unit_;      // the Gram matrix's largest diagonal element, which divides gram_
  at::Tensor gram_;  // float32
};

ObjectiveOnHost::ObjectiveOnHost(const at::Tensor& gram)
    : unit_(gram.diagonal().max().item<double>()), gram_(gram.to(at::kCPU)) {
  unit_ = unit_ > 0 ? unit_ : 1;
  const at::Tensor wide = gram_;
  gram_ = at::empty(wide.sizes(), wide.options().dtype(at::kFloat));
  kit::for_row_blocks(wide, [&](int64_t first, int64_t count) {
    gram_.narrow(0, first, count).copy_(wide.narrow(0, first, count).div(unit_));
  });
}

// x G x' is the sum over block columns b of (2 x G[:b, b] + x_b G[b, b]) . x_b. Errors are scaled
// by their largest, so that everything stays within the range of float32.
std::vector<double> ObjectiveOnHost::quadratic_forms(at::Tensor& errors,
                                                     const at::Tensor& gram) const {
  const int64_t columns = gram.size(0);
  std::vector<double> sums(static_cast<size_t>(errors.size(0)));
  const double largest = largest_of(errors);
  if (!(largest > 0)) {
    return sums;
  }
  kit::for_row_blocks(
      errors, [&](int64_t first, int64_t count) { errors.narrow(0, first, count).div_(largest); });
  for (int64_t begin = 0; begin < columns; begin += kColumns) {
    const int64_t size = std::min(kColumns, columns - begin);
    const at::Tensor block = gram.narrow(1, begin, size);
    const at::Tensor product =
        matrix::product(errors.narrow(1, begin, size), block.narrow(0, begin, size));
    if (begin > 0) {
      matrix::add_product(product, errors.narrow(1, 0, begin), block.narrow(0, 0, begin), 2);
    }
    add_row_products(product, errors.const_data_ptr<float>() + begin, columns, sums);
  }
  for (double& sum : sums) {
    sum *= largest * largest * unit_;
  }
  return sums;
}

double ObjectiveOnHost::error(const ScaledWeight& weight, std::span<const double> scale,
                              const Limits& limits) const {
  double sum = 0;
  for (int64_t first = 0; first < weight.rows; first += kRows) {
    kit::check_cancelled();
    const int64_t count = std::min(kRows, weight.rows - first);
    at::Tensor errors = at::empty({count, weight.columns}, gram_.options());
    rounding_errors(weight, scale, limits, first, count, errors.data_ptr<float>());
    for (const double row : quadratic_forms(errors, gram_)) {
      sum += row;
    }
  }
  return sum;
}

Limits ObjectiveOnHost::best_limits(const ScaledWeight& weight, std::span<const double> scale,
                                    int64_t levels, int64_t steps) const {
  Limits limits = magnitudes(weight, scale);
  const Limits largest = limits;
  for (int64_t g = 0; g < weight.groups.count; ++g) {
    kit::check_cancelled();
    const int64_t begin = g * weight.groups.size;
    const int64_t size = std::min(weight.groups.size, weight.columns - begin);
    const at::Tensor block = gram_.narrow(0, begin, size).narrow(1, begin, size);
    std::vector<double> least(static_cast<size_t>(weight.rows));
    for (int64_t level = 0; level < levels; ++level) {
      const double part = 1 - static_cast<double>(level) / static_cast<double>(steps);
      at::Tensor errors = at::empty({weight.rows, size}, gram_.options());
      clipped_errors(weight, scale, g, part, errors.data_ptr<float>());
      const std::vector<double> sums = quadratic_forms(errors, block);
      for (size_t r = 0; r < sums.size(); ++r) {
        if (level == 0 || sums[r] < least[r]) {
          least[r] = sums[r];
          const size_t at = r * static_cast<size_t>(weight.groups.count) + static_cast<size_t>(g);
          limits[at] = part * largest[at];
        }
      }
    }
  }
  return limits;
}

}  // namespace

std::unique_ptr<GramObjective> gram_objective(const at::Tensor& gram, const ScaledWeight& like) {
  if (rounds_on_host(like)) {
    return std::make_unique<ObjectiveOnHost>(gram);
  }
  return objective_on_device(gram.to(like.weight.device()));
}

}  // namespace quench::quantizers
