#include "quantizers/gram/gram.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/triu.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "quantizers/gram/device_panel.hpp"
#include "quantizers/gram/selection.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

namespace {

constexpr int64_t kErrorRows = 512;  // rows of a weight per step of the output error
constexpr int64_t kErrorElements = int64_t{1} << 24;  // of differences that a device holds at once
constexpr int64_t kErrorColumns = 256;                // columns of the Gram matrix per step
constexpr int64_t kDeviceColumns = 2048;              // that a device mirrors at once
constexpr int64_t kLanes = 8;                         // partial sums per row

// Adds to sums[h] the sum over the rows of half h of (row of left) . (row of right), in a fixed
// order. left [2n, c] is float64, right [2n, c] is T.
template <typename T>
void add_products(const at::Tensor& left, const at::Tensor& right, double* sums) {
  const int64_t half = left.size(0) / 2;
  const int64_t columns = left.size(1);
  for (int64_t r = 0; r < left.size(0); ++r) {
    const double* x = left.const_data_ptr<double>() + r * left.stride(0);
    const T* y = right.const_data_ptr<T>() + r * right.stride(0);
    double partial[kLanes] = {};
    int64_t c = 0;
    for (; c + kLanes <= columns; c += kLanes) {
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        partial[lane] += x[c + lane] * static_cast<double>(y[c + lane]);
      }
    }
    for (; c < columns; ++c) {
      partial[c % kLanes] += x[c] * static_cast<double>(y[c]);
    }
    for (const double part : partial) {
      sums[r < half ? 0 : 1] += part;
    }
  }
}

}  // namespace

uint64_t Gram::bytes(int64_t in_features, bool float64) {
  const auto in = static_cast<uint64_t>(in_features);
  const uint64_t product = float64 || in_features <= kFloat64Columns ? 8 : 4;
  return in * in * 8 + (kPanelRows + kBlockColumns) * in * product;
}

uint64_t Gram::bytes_on_device(int64_t in_features, bool float64, uint64_t element) {
  const bool wide = float64 || element == 8 || (element == 4 && in_features <= kFloat64Columns);
  const auto in = static_cast<uint64_t>(in_features);
  return in * in * 8 + PanelSum::bytes(in_features, wide) +
         static_cast<uint64_t>(rows_at_once(in_features)) * in * (wide ? 8 : element);
}

void Gram::observe(const quench_observe_args& args) {
  const c10::InferenceMode inference;
  if (args.x->dimensions != 2 || args.x->shape[1] != columns_) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "x: wanted [N, %lld], got %s",
              static_cast<long long>(columns_), kit::shape_text(kit::shape_of(*args.x)).c_str());
  }
  const at::Tensor x = kit::borrow(*args.x);
  const bool first = row_type_ == at::ScalarType::Undefined;
  if (!x.is_floating_point() || (!first && x.scalar_type() != row_type_)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "x: wanted the dtype of the earlier rows, got %s",
              kit::name_of(args.x->dtype).c_str());
  }
  const Selection selection = select(args, x.size(0));
  const at::Tensor rows = matrix::on_host(x) ? selected(x, selection) : chosen(x, selection);
  if (rows.size(0) == 0) {
    return;
  }
  if (first) {
    start(x);
  }
  append(rows, selection.roots);
  rows_ += selection.weight;
}

void Gram::start(const at::Tensor& x) {
  row_type_ = x.scalar_type();
  on_device_ = !matrix::on_host(x);
  const bool exact = on_device_ && row_type_ != at::kFloat && !asked_float64_;  // or float64 itself
  float64_ = row_type_ == at::kDouble || (float64_ && !exact);
  if (!matrix_.defined()) {
    matrix_ = at::zeros({columns_, columns_}, x.options().dtype(at::kDouble));
  }
  const at::ScalarType product = float64_ ? at::kDouble : at::kFloat;
  panel_ = at::empty({0, columns_}, x.options().dtype(product));
  give_panel(exact && !float64_ ? row_type_ : product);
}

int64_t Gram::panel_rows() const {
  return on_device_ ? rows_at_once(columns_) : kPanelRows;
}

void Gram::give_panel(at::ScalarType type) {
  if (panel_.size(0) == 0 || panel_.scalar_type() != type) {
    flush();
    panel_ = at::empty({panel_rows(), columns_}, panel_.options().dtype(type));
  }
}

void Gram::append(const at::Tensor& rows, const std::vector<double>& roots) {
  mirrored_ = false;
  at::Tensor weights;
  if (!roots.empty()) {
    if (!float64_) {
      give_panel(at::kFloat);  // a product with a root has more than 16 bits
    }
    weights = at::tensor(roots, at::kDouble).to(panel_.options()).unsqueeze(1);
  }
  for (int64_t done = 0; done < rows.size(0);) {
    const int64_t count = std::min(panel_rows() - filled_, rows.size(0) - done);
    const bool as_they_are =
        rows.scalar_type() == panel_.scalar_type() || rows.scalar_type() == at::kFloat;
    if (count == panel_rows() && !weights.defined() &&
        as_they_are) {  // a whole panel: multiplied in place
      add_panel(rows.narrow(0, done, count));
      done += count;
      continue;
    }
    at::Tensor slot = panel_.narrow(0, filled_, count);
    slot.copy_(rows.narrow(0, done, count));
    if (weights.defined()) {
      slot.mul_(weights.narrow(0, done, count));
    }
    filled_ += count;
    done += count;
    if (filled_ == panel_rows()) {
      flush();
    }
  }
}

void Gram::flush() {
  if (filled_ > 0) {
    add_panel(panel_.narrow(0, 0, filled_));
  }
  filled_ = 0;
}

void Gram::add_panel(const at::Tensor& rows) {
  kit::check_cancelled();
  if (on_device_) {
    panels_.add(matrix_, float64_ ? rows.to(at::kDouble) : rows);
  } else if (float64_) {
    matrix::add_float64_square(matrix_, rows);
  } else {
    matrix::add_product(matrix_, rows.t(), rows, 1, matrix::Triangle::kUpper);
  }
}

// Copies the upper triangle to the lower one. Throws if an element overflowed.
void Gram::mirror() {
  const int64_t block = on_device_ ? kDeviceColumns : kBlockColumns;
  for (int64_t begin = 0; begin < columns_; begin += block) {
    const int64_t size = std::min(block, columns_ - begin);
    const at::Tensor columns = matrix_.narrow(1, begin, size);
    if (begin > 0) {
      matrix_.narrow(0, begin, size).narrow(1, 0, begin).copy_(columns.narrow(0, 0, begin).t());
    }
    at::Tensor corner = columns.narrow(0, begin, size);
    corner.copy_(at::triu(corner).add_(at::triu(corner, 1).t()));
  }
  check_diagonal();
  mirrored_ = true;
}

// A NaN or Inf in a row is one in the diagonal, and nowhere else are rows on a GPU looked at.
void Gram::check_diagonal() const {
  const at::Tensor finite = at::isfinite(matrix_.diagonal()).cpu();
  const bool* flags = finite.const_data_ptr<bool>();
  const int64_t at = std::find(flags, flags + columns_, false) - flags;
  if (at < columns_ && on_device_) {
    kit::fail(QUENCH_NUMERICAL,
              "the input of the group is not finite, or too large, in column %lld",
              static_cast<long long>(at));
  }
  if (at < columns_) {
    kit::fail(QUENCH_NUMERICAL, "the Gram matrix overflows: the rows are too large");
  }
}

void Gram::set(const quench_tensor& gram, double rows) {
  const c10::InferenceMode inference;
  if (rows_ != 0) {
    kit::fail(QUENCH_FAILED_PRECONDITION, "gram: this group has already observed rows");
  }
  if (gram.dimensions != 2 || gram.shape[0] != columns_ || gram.shape[1] != columns_) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "gram: wanted [%lld, %lld], got %s",
              static_cast<long long>(columns_), static_cast<long long>(columns_),
              kit::shape_text(kit::shape_of(gram)).c_str());
  }
  if (!(rows > 0) || !std::isfinite(rows)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "gram: wanted a positive number of rows, got %g", rows);
  }
  const at::Tensor given = kit::borrow(gram);
  if (!at::isfinite(given).all().item<bool>()) {
    kit::fail(QUENCH_NUMERICAL, "gram: not finite");
  }
  matrix_ = at::empty({columns_, columns_}, given.options().dtype(at::kDouble));
  matrix_.copy_(given);
  mirror();
  rows_ = rows;
}

const at::Tensor& Gram::matrix() {
  if (empty()) {
    kit::fail(QUENCH_FAILED_PRECONDITION, "no calibration rows were observed");
  }
  const c10::InferenceMode inference;
  if (!mirrored_) {
    flush();
    panels_.finish(matrix_);
    mirror();
  }
  return matrix_;
}

OutputError Gram::output_error(const quench_tensor& weight, const quench_tensor& dequantized) {
  const c10::InferenceMode inference;
  const at::Tensor& gram = matrix();
  const at::Tensor original = kit::borrow(weight);
  const at::Tensor result = kit::borrow(dequantized);
  if (original.dim() != 2 || original.size(1) != columns_ || result.sizes() != original.sizes()) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "output error: wanted two weights [out, %lld]",
              static_cast<long long>(columns_));
  }
  // Products are float64 if G was set from outside or comes from float64 rows, or if the weights
  // are.
  const bool wide = row_type_ == at::kDouble || row_type_ == at::ScalarType::Undefined ||
                    original.scalar_type() == at::kDouble;
  const bool here = matrix::on_host(gram);
  const at::ScalarType type = wide || !here ? at::kDouble : at::kFloat;
  const auto options = gram.options().dtype(type);
  const int64_t most = here ? kErrorRows : std::max(int64_t{1}, kErrorElements / columns_);
  const at::Tensor memory = at::empty({2 * std::min(most, original.size(0)), columns_}, options);
  const at::Tensor on_device = here ? at::Tensor() : at::zeros({2}, options);
  double sums[2] = {0, 0};
  for (int64_t begin = 0; begin < original.size(0); begin += most) {
    const int64_t count = std::min(most, original.size(0) - begin);
    const at::Tensor rows = memory.narrow(0, 0, 2 * count);  // differences, weights
    at::Tensor weights = rows.narrow(0, count, count);
    weights.copy_(original.narrow(0, begin, count));
    rows.narrow(0, 0, count).copy_(weights).sub_(result.narrow(0, begin, count).to(options));
    if (here) {
      add_quadratic_forms(gram, rows, sums);
    } else {
      kit::check_cancelled();
      add_quadratic_forms_on_device(gram, rows, on_device);
    }
  }
  if (!here) {
    const at::Tensor host = on_device.cpu();
    std::copy_n(host.const_data_ptr<double>(), 2, sums);
  }
  return {sums[0], sums[1]};
}

// Because G is symmetric, x G x' is the sum over block columns b of (2 x G[:b, b] + x_b G[b, b]) .
// x_b, half the work of a product with all of G. Products of float32 rows are float32 and are
// summed in float64.
void Gram::add_quadratic_forms(const at::Tensor& gram, const at::Tensor& rows, double* sums) {
  for (int64_t begin = 0; begin < columns_; begin += kErrorColumns) {
    kit::check_cancelled();
    const int64_t size = std::min(kErrorColumns, columns_ - begin);
    const at::Tensor own = rows.narrow(1, begin, size);
    const at::Tensor block =
        gram.narrow(0, 0, begin + size).narrow(1, begin, size).to(rows.scalar_type());
    const at::Tensor product = at::zeros({rows.size(0), size}, gram.options());
    matrix::add_product(product, own, block.narrow(0, begin, size));
    if (begin > 0) {
      matrix::add_product(product, rows.narrow(1, 0, begin), block.narrow(0, 0, begin), 2);
    }
    if (own.scalar_type() == at::kDouble) {
      add_products<double>(product, own, sums);
    } else {
      add_products<float>(product, own, sums);
    }
  }
}

}  // namespace quench::quantizers
