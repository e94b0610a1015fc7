#include "transforms/smoothquant/device/magnitudes.hpp"

#include <ATen/ops/amax.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include <cmath>

#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::transforms {

namespace {

[[noreturn]] void fail_not_finite(const at::Tensor& rows, const std::vector<int64_t>& index) {
  const at::Tensor first = at::isfinite(rows).logical_not().nonzero().select(0, 0);
  const int64_t row = first.select(0, 0).item<int64_t>();
  const int64_t column = first.select(0, 1).item<int64_t>();
  kit::fail(QUENCH_NUMERICAL, "row %lld, column %lld is %g",
            static_cast<long long>(index.empty() ? row : index[static_cast<size_t>(row)]),
            static_cast<long long>(column),
            std::fabs(rows.select(0, row).select(0, column).item<double>()));
}

}  // namespace

bool on_device(const quench_tensor& rows) {
  return !matrix::on_host(kit::borrow(rows));
}

std::vector<double> largest_on_device(const quench_observe_args& args) {
  const c10::InferenceMode inference;
  at::Tensor rows = kit::borrow(*args.x);
  std::vector<int64_t> index;
  if (args.row_index != nullptr) {
    const auto given = kit::elements<int64_t>(*args.row_index, "row_index");
    index.assign(given.begin(), given.end());
    const at::Tensor places =
        at::from_blob(index.data(), {static_cast<int64_t>(index.size())}, at::kLong);
    rows = at::index_select(rows, 0, places.to(rows.device()));
  }
  if (rows.size(0) == 0) {
    return std::vector<double>(static_cast<size_t>(rows.size(1)));
  }
  const at::Tensor largest = at::amax(rows.abs(), 0).to(at::kCPU, at::kDouble);
  if (!at::isfinite(largest).all().item<bool>()) {  // a maximum with NaN is NaN
    fail_not_finite(rows, index);
  }
  const double* first = largest.const_data_ptr<double>();
  return {first, first + largest.numel()};
}

}  // namespace quench::transforms
