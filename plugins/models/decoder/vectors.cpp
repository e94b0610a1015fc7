// quench.model.vectors/1: arithmetic on vectors over all parameters, where the weights are; and
// quench.model.shared_weights/1: weights that are such a vector.
#include "quench/abi/extension/gradients.h"

#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <functional>

#include "models/decoder/decoder.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

// Elements that are in float64 at once, 32 MiB of them: vectors over a model's parameters are too
// long to be widened whole.
constexpr int64_t kRange = int64_t{1} << 22;

// Calls body(first, count) for one range of [0, elements) after the other.
void for_ranges(int64_t elements, const std::function<void(int64_t, int64_t)>& body) {
  for (int64_t first = 0; first < elements; first += kRange) {
    body(first, std::min(kRange, elements - first));
  }
}

}  // namespace

bool Decoder::is_on_device(const quench_tensor& view) const {
  return kit::torch_device(view.device) == device_;
}

at::Tensor Decoder::borrow_range(const quench_tensor& view, int64_t elements,
                                 const char* what) const {
  const quench_dtype type = kit::dtype_of_scalar(vector_type());
  const bool has_length = view.dimensions == 1 && (elements < 0 || view.shape[0] == elements);
  if (!has_length || !kit::same(view.dtype, type) || !is_on_device(view) ||
      !kit::is_contiguous(view)) {
    const int64_t wanted[] = {elements};
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: %s %s, wanted %s %s on %s", what,
              kit::name_of(view.dtype).c_str(), kit::shape_text(kit::shape_of(view)).c_str(),
              kit::name_of(type).c_str(), elements < 0 ? "[n]" : kit::shape_text(wanted).c_str(),
              device_.str().c_str());
  }
  return kit::borrow(view);
}

void Decoder::fill(double value, const quench_tensor& to) const {
  const c10::InferenceMode mode;
  borrow_range(to, -1, "fill: to").fill_(value);
}

void Decoder::combine(std::span<const quench_tensor> vectors, const double* coefficients,
                      const quench_tensor& to) const {
  const c10::InferenceMode mode;
  const at::Tensor out = borrow_range(to, -1, "combine: to");
  std::vector<at::Tensor> terms;
  for (const quench_tensor& vector : vectors) {
    terms.push_back(borrow_range(vector, out.numel(), "combine: a vector"));
  }
  for_ranges(out.numel(), [&](int64_t first, int64_t count) {
    const at::Tensor sum = at::zeros({count}, out.options().dtype(at::kDouble));
    for (size_t k = 0; k < terms.size(); ++k) {
      sum.add_(terms[k].narrow(0, first, count).to(at::kDouble), coefficients[k]);
    }
    out.narrow(0, first, count).copy_(sum);
  });
}

double Decoder::inner_product(const quench_tensor& a, const quench_tensor& b) const {
  const c10::InferenceMode mode;
  const at::Tensor left = borrow_range(a, -1, "dot: a");
  const at::Tensor right = borrow_range(b, left.numel(), "dot: b");
  if (left.is_cuda() && left.data_ptr() == right.data_ptr()) {  // a norm, in one reading
    return at::linalg_vector_norm(left, 2, std::nullopt, false, at::kDouble)
        .square()
        .item<double>();
  }
  const at::Tensor total = at::zeros({}, left.options().dtype(at::kDouble));
  for_ranges(left.numel(), [&](int64_t first, int64_t count) {
    const at::Tensor wide = left.narrow(0, first, count).to(at::kDouble);
    total.add_(wide.mul(right.narrow(0, first, count).to(at::kDouble)).sum());
  });
  return total.item<double>();
}

void Decoder::share_weights(const quench_tensor& vector) {
  const c10::InferenceMode mode;
  if (vector_type() != dtype_) {
    kit::fail(QUENCH_UNSUPPORTED, "share: a model of %s, whose flat vectors are %s",
              at::toString(dtype_), at::toString(vector_type()));
  }
  recorded_stages_.forget();
  weights_.move_to(borrow_range(vector, static_cast<int64_t>(weights_.total()), "share: vector"));
}

}  // namespace quench::decoder
