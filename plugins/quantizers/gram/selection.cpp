#include "quantizers/gram/selection.hpp"

#include <ATen/ops/index_select.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "quench/kit/torch.hpp"
#include "shared/matrix/finite.hpp"

namespace quench::quantizers {

namespace {

// Row and column of the first element that is NaN or Inf.
[[noreturn]] void fail_not_finite(const at::Tensor& finite, const Selection& selection) {
  const at::Tensor host = finite.to(at::kCPU).contiguous();
  const bool* flags = host.const_data_ptr<bool>();
  const int64_t at = std::find(flags, flags + host.numel(), false) - flags;
  const int64_t row = at / host.size(1);
  kit::fail(
      QUENCH_NUMERICAL, "the input of the group is not finite at row %lld, column %lld",
      static_cast<long long>(selection.rows ? (*selection.rows)[static_cast<size_t>(row)] : row),
      static_cast<long long>(at % host.size(1)));
}

std::optional<std::vector<int64_t>> read_index(const quench_tensor* index, int64_t rows) {
  if (index == nullptr) {
    return std::nullopt;
  }
  const auto values = kit::elements<int64_t>(*index, "row_index");
  for (const int64_t row : values) {
    if (row < 0 || row >= rows) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "row_index: %lld, wanted an index below %lld",
                static_cast<long long>(row), static_cast<long long>(rows));
    }
  }
  return std::vector<int64_t>(values.begin(), values.end());
}

// Drops rows of weight 0 and replaces weights by their square roots.
void apply_weights(const quench_tensor& weights, int64_t rows, Selection& selection) {
  const auto values = kit::elements<double>(weights, "row_weight");
  std::vector<int64_t> candidates;
  if (selection.rows) {
    candidates = *selection.rows;
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      candidates.push_back(r);
    }
  }
  const bool by_position = values.size() == candidates.size();
  if (!by_position && static_cast<int64_t>(values.size()) != rows) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "row_weight: wanted %zu or %lld weights, got %zu",
              candidates.size(), static_cast<long long>(rows), values.size());
  }
  std::vector<int64_t> kept;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const double weight = values[by_position ? i : static_cast<size_t>(candidates[i])];
    if (!(weight >= 0) || !std::isfinite(weight)) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "row_weight: wanted a finite weight >= 0, got %g", weight);
    }
    if (weight > 0) {
      kept.push_back(candidates[i]);
      selection.roots.push_back(std::sqrt(weight));
      selection.weight += weight;
    }
  }
  selection.rows = std::move(kept);
}

}  // namespace

Selection select(const quench_observe_args& args, int64_t rows) {
  Selection selection;
  selection.rows = read_index(args.row_index, rows);
  if (args.row_weight != nullptr) {
    apply_weights(*args.row_weight, rows, selection);
  } else {
    selection.weight = static_cast<double>(selection.rows ? selection.rows->size() : rows);
  }
  return selection;
}

at::Tensor chosen(const at::Tensor& x, const Selection& selection) {
  return selection.rows ? x.index_select(0, at::tensor(*selection.rows, at::kLong).to(x.device()))
                        : x;
}

at::Tensor selected(const at::Tensor& x, const Selection& selection) {
  const at::Tensor rows = chosen(x, selection);
  if (rows.size(0) > 0 && !matrix::all_finite(rows)) {
    fail_not_finite(at::isfinite(rows), selection);
  }
  return rows;
}

}  // namespace quench::quantizers
