#include "quantizers/rotated/device/multiply_by_kernel.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "quantizers/grid/coded.hpp"
#include "quantizers/rotated/device/entries.hpp"
#include "shared/cuda/run_kernel.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kHeld = int64_t{1} << 23;  // sums that are float64 at once

template <typename T>
bool multiply(const hadamard::Hadamard& matrix, const at::Tensor& rows, bool transposed,
              std::span<const double> signs) {
  const int64_t core = matrix.core();
  const int64_t held_of_row = matrix.size() * (core > 1 ? 2 : 1);
  const int64_t most = std::max<int64_t>(1, kHeld / held_of_row);
  const auto options = rows.options();
  const at::Tensor held =
      at::empty({std::min(most, rows.size(0)), held_of_row}, options.dtype(at::kDouble));
  const at::Tensor entries = beside<int8_t>(rows, matrix.core_entries());
  const at::Tensor own_signs = signs.empty() ? at::Tensor() : beside<double>(rows, signs);
  const at::Tensor refused = at::zeros({1}, options.dtype(at::kInt));
  for (int64_t first = 0; first < rows.size(0); first += most) {
    const int64_t count = std::min(most, rows.size(0) - first);
    const MultiplyRows<T> kernel{rows.data_ptr<T>() + first * matrix.size(),
                                 count,
                                 static_cast<int32_t>(core),
                                 std::countr_zero(static_cast<uint64_t>(matrix.size() / core)),
                                 entries.const_data_ptr<int8_t>(),
                                 own_signs.defined() ? own_signs.const_data_ptr<double>() : nullptr,
                                 transposed,
                                 std::sqrt(static_cast<double>(matrix.size())),
                                 held.data_ptr<double>(),
                                 refused.data_ptr<int32_t>()};
    cuda::run_kernel(std::is_same_v<T, double> ? kMultiplyRowsDouble : kMultiplyRowsFloat, kernel,
                     rows.device());
  }
  return refused.item<int32_t>() == 0;
}

}  // namespace

bool multiply_by_kernel(const hadamard::Hadamard& matrix, const at::Tensor& rows, bool transposed,
                        std::span<const double> signs) {
  return rows.scalar_type() == at::kDouble ? multiply<double>(matrix, rows, transposed, signs)
                                           : multiply<float>(matrix, rows, transposed, signs);
}

bool multiply_by_kernel(const hadamard::RandomHadamard& rotation, const at::Tensor& rows,
                        hadamard::RandomHadamard::Direction direction) {
  return multiply_by_kernel(rotation.matrix(), rows,
                            direction == hadamard::RandomHadamard::Direction::kUndo,
                            rotation.signs());
}

}  // namespace quench::quantizers
