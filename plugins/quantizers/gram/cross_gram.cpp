#include "quantizers/gram/cross_gram.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "quantizers/gram/gram.hpp"
#include "quantizers/gram/selection.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

CrossGram::CrossGram(int64_t in_features, bool float64)
    : columns_(in_features), float64_(float64 || in_features <= Gram::kFloat64Columns) {}

uint64_t CrossGram::bytes(int64_t in_features, bool float64) {
  const auto in = static_cast<uint64_t>(in_features);
  const uint64_t product = float64 || in_features <= Gram::kFloat64Columns ? 8 : 4;
  return in * in * 8 + (2 * Gram::kPanelRows + Gram::kBlockColumns) * in * product;
}

void CrossGram::observe(const quench_observe_args& args) {
  const c10::InferenceMode inference;
  if (args.float_x == nullptr) {
    kit::fail(QUENCH_FAILED_PRECONDITION,
              "wanted rows of the float model beside those of the quantized one, got none");
  }
  const at::Tensor x = kit::borrow(*args.x);
  const at::Tensor y = kit::borrow(*args.float_x);
  if (y.sizes() != x.sizes() || !y.is_floating_point()) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "float_x: wanted the shape of x, %s, got %s",
              kit::shape_text(kit::shape_of(*args.x)).c_str(),
              kit::shape_text(kit::shape_of(*args.float_x)).c_str());
  }
  const Selection selection = select(args, x.size(0));
  const at::Tensor rows = selected(x, selection);
  if (!rows_.defined()) {
    float64_ = float64_ || x.scalar_type() == at::kDouble;
    const auto options = x.options().dtype(float64_ ? at::kDouble : at::kFloat);
    rows_ = at::empty({Gram::kPanelRows, columns_}, options);
    moved_ = at::empty({Gram::kPanelRows, columns_}, options);
    matrix_ = at::zeros({columns_, columns_}, x.options().dtype(at::kDouble));
  }
  if (rows.size(0) > 0) {
    append(selected(y, selection), rows, selection.roots);
  }
}

void CrossGram::append(const at::Tensor& moved, const at::Tensor& rows,
                       const std::vector<double>& roots) {
  at::Tensor weights;
  if (!roots.empty()) {
    weights = at::tensor(roots, at::kDouble).to(rows_.options()).unsqueeze(1);
  }
  for (int64_t done = 0; done < rows.size(0);) {
    const int64_t count = std::min(Gram::kPanelRows - filled_, rows.size(0) - done);
    at::Tensor right = rows_.narrow(0, filled_, count);
    at::Tensor left = moved_.narrow(0, filled_, count);
    right.copy_(rows.narrow(0, done, count));
    left.copy_(moved.narrow(0, done, count)).sub_(right);
    if (weights.defined()) {
      right.mul_(weights.narrow(0, done, count));
      left.mul_(weights.narrow(0, done, count));
    }
    filled_ += count;
    done += count;
    if (filled_ == Gram::kPanelRows) {
      flush();
    }
  }
}

void CrossGram::flush() {
  kit::check_cancelled();
  if (filled_ > 0) {
    matrix::add_product(matrix_, moved_.narrow(0, 0, filled_).t(), rows_.narrow(0, 0, filled_));
  }
  filled_ = 0;
}

const at::Tensor& CrossGram::matrix() {
  const c10::InferenceMode inference;
  if (!matrix_.defined()) {
    matrix_ = at::zeros({columns_, columns_}, at::kDouble);
  }
  flush();
  return matrix_;
}

}  // namespace quench::quantizers
