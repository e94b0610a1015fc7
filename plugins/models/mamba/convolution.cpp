#include "models/mamba/convolution.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/mamba/scan_kernels.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::mamba {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr uint64_t kTokens = 64;  // per task

// Operations of libtorch, which can differentiate them.
at::Tensor composed_convolution(const Convolution& convolution, const at::Tensor& x,
                                const Predecessors& tokens) {
  const at::Tensor weight = decoder::tracked(convolution.weight).squeeze(1);  // [C, taps]
  const int64_t taps = weight.size(1);
  at::Tensor sum = x.mul(weight.select(1, taps - 1));
  at::Tensor earlier = x;
  for (int64_t k = 1; k < taps; ++k) {
    earlier = tokens.shifted(earlier);
    sum = sum.add(earlier.mul(weight.select(1, taps - 1 - k)));
  }
  if (convolution.bias.defined()) {
    sum = sum.add(decoder::tracked(convolution.bias));
  }
  const at::Tensor y = sum.mul(at::sigmoid(sum));
  const at::Tensor audible = tokens.audible(y);
  return audible.defined() ? y.mul(audible) : y;
}

// The taps with a channel's neighbours side by side: [taps, C], the token's own first.
template <typename T>
std::vector<T> turned_taps(const at::Tensor& weight) {
  const int64_t channels = weight.size(0);
  const int64_t taps = weight.size(2);
  const at::Tensor held = weight.to(c10::CppTypeToScalarType<T>::value);
  const auto* from = held.const_data_ptr<T>();
  std::vector<T> turned(static_cast<size_t>(channels * taps));
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t k = 0; k < taps; ++k) {
      turned[static_cast<size_t>(k * channels + c)] = from[c * taps + taps - 1 - k];
    }
  }
  return turned;
}

// The rows of a batch as the kernels take them.
template <typename T>
class TapRows {
 public:
  TapRows(const Convolution& convolution, const at::Tensor& x, const Predecessors& tokens)
      : x_(x), tokens_(tokens), weight_(turned_taps<T>(convolution.weight)) {
    if (convolution.bias.defined()) {
      bias_ = convolution.bias.to(c10::CppTypeToScalarType<T>::value);
    }
  }

  kernel::Taps<T> row(int64_t row) const {
    const int64_t first = row * tokens_.length();
    const auto channels = static_cast<size_t>(x_.size(1));
    return {static_cast<size_t>(tokens_.length()),
            channels,
            weight_.size() / channels,
            static_cast<size_t>(x_.stride(0)),
            tokens_.before(row),
            tokens_.silent().empty() ? nullptr : tokens_.silent().data() + first,
            x_.const_data_ptr<T>() + first * x_.stride(0),
            weight_.data(),
            bias_.defined() ? bias_.const_data_ptr<T>() : nullptr};
  }

 private:
  const at::Tensor& x_;
  const Predecessors& tokens_;
  std::vector<T> weight_;
  at::Tensor bias_;
};

// y [C] of one token.
template <typename T>
void convolve_token(const kernel::Taps<T>& row, int32_t token, T* y) {
  if (row.silent != nullptr && row.silent[token] != 0) {
    std::fill_n(y, row.channels, T{});
    return;
  }
  if (row.bias != nullptr) {
    std::copy_n(row.bias, row.channels, y);
  } else {
    std::fill_n(y, row.channels, T{});
  }
  for (size_t k = 0; k < row.taps && token >= 0; ++k, token = row.before[token]) {
    kernel::add_products(row.channels, row.x + static_cast<size_t>(token) * row.stride,
                         row.weight + k * row.channels, y);
  }
  kernel::silu(row.channels, y, y);
}

template <typename T>
void convolve_rows(const Convolution& convolution, const at::Tensor& x, const Predecessors& tokens,
                   const at::Tensor& y) {
  const TapRows<T> rows(convolution, x, tokens);
  const auto length = static_cast<uint64_t>(tokens.length());
  auto* to = y.mutable_data_ptr<T>();
  kit::parallel_for(
      static_cast<uint64_t>(tokens.tokens()), kTokens, [&](uint64_t begin, uint64_t end) {
        for (uint64_t n = begin; n < end; ++n) {
          const auto row = rows.row(static_cast<int64_t>(n / length));
          convolve_token(row, static_cast<int32_t>(n % length), to + n * row.channels);
        }
      });
}

void convolve_into(const Convolution& convolution, const at::Tensor& x, const Predecessors& tokens,
                   const at::Tensor& y) {
  if (x.scalar_type() == at::kDouble) {
    convolve_rows<double>(convolution, x, tokens, y);
  } else {
    convolve_rows<float>(convolution, x, tokens, y);
  }
}

// Where the derivatives of the weights go; both may be undefined.
struct TapTargets {
  at::Tensor weight;
  at::Tensor bias;
};

// Adds the sums over rows, [rows, K, C] and [rows, C], in order.
template <typename T>
void add_tap_gradients(const std::vector<T>& by_weight, const std::vector<T>& by_bias,
                       const kernel::Taps<T>& shape, const TapTargets& to) {
  const auto total = [](const std::vector<T>& parts, size_t size, size_t at) {
    double sum = 0;
    for (; at < parts.size(); at += size) {
      sum += static_cast<double>(parts[at]);
    }
    return static_cast<T>(sum);
  };
  for (size_t c = 0; c < shape.channels; ++c) {
    for (size_t k = 0; to.weight.defined() && k < shape.taps; ++k) {
      to.weight.mutable_data_ptr<T>()[(c + 1) * shape.taps - 1 - k] +=
          total(by_weight, shape.taps * shape.channels, k * shape.channels + c);
    }
    if (to.bias.defined()) {
      to.bias.mutable_data_ptr<T>()[c] += total(by_bias, shape.channels, c);
    }
  }
}

template <typename T>
at::Tensor convolve_backward(const Convolution& convolution, const at::Tensor& x,
                             const Predecessors& tokens, const at::Tensor& dy,
                             const TapTargets& to) {
  const TapRows<T> rows(convolution, x, tokens);
  const kernel::Taps<T> shape = rows.row(0);
  const uint64_t weights = shape.taps * shape.channels;
  const uint64_t elements = shape.tokens * shape.channels;
  const auto batch = static_cast<uint64_t>(tokens.rows());
  const uint64_t parts = (shape.channels + kernel::kLanes - 1) / kernel::kLanes;
  const at::Tensor dx = at::zeros(dy.sizes(), dy.options());
  std::vector<T> by_weight(batch * weights);
  std::vector<T> by_bias(batch * shape.channels);
  kit::parallel_for(batch * parts, 4, [&](uint64_t begin, uint64_t end) {
    for (uint64_t task = begin; task < end; ++task) {
      const uint64_t row = task / parts;
      const uint64_t first = task % parts * kernel::kLanes;
      kernel::taps_backward(
          rows.row(static_cast<int64_t>(row)), dy.const_data_ptr<T>() + row * elements, first,
          std::min<uint64_t>(kernel::kLanes, shape.channels - first),
          {dx.mutable_data_ptr<T>() + row * elements, by_weight.data() + row * weights,
           by_bias.data() + row * shape.channels});
    }
  });
  add_tap_gradients(by_weight, by_bias, shape, to);
  return dx;
}

// The inputs of the convolution other than x; not variables of the graph.
struct TapOperands {
  Convolution convolution;
  TapTargets gradients;
  SharedPredecessors predecessors;
};

struct TrainedConvolution : torch::autograd::Function<TrainedConvolution> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const TapOperands& operands) {
    context->saved_data["x"] = x;
    context->saved_data["weight"] = operands.convolution.weight;
    context->saved_data["bias"] = operands.convolution.bias;
    context->saved_data["weight_gradient"] = operands.gradients.weight;
    context->saved_data["bias_gradient"] = operands.gradients.bias;
    context->saved_data["predecessors"] = c10::IValue::make_capsule(operands.predecessors);
    at::Tensor y = at::empty({x.size(0), x.size(1)}, x.options());
    convolve_into(operands.convolution, x, *operands.predecessors, y);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = [&](const char* name) { return context->saved_data[name].toTensor(); };
    const Convolution convolution = {saved("weight"), saved("bias")};
    const TapTargets to = {saved("weight_gradient"), saved("bias_gradient")};
    const auto predecessors = c10::static_intrusive_pointer_cast<Predecessors>(
        context->saved_data["predecessors"].toCapsule());
    const at::Tensor x = saved("x");
    const at::Tensor dy = gradients[0].contiguous();
    return {dy.scalar_type() == at::kDouble
                ? convolve_backward<double>(convolution, x, *predecessors, dy, to)
                : convolve_backward<float>(convolution, x, *predecessors, dy, to),
            {}};
  }
};

bool has_convolution_kernels(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble;
}

}  // namespace

at::Tensor convolve(const Convolution& convolution, const at::Tensor& x,
                    const SharedPredecessors& predecessors, const at::Tensor& into) {
  const decoder::AutogradScope* scope = decoder::AutogradScope::current();
  const bool on_host = matrix::on_host(x);
  if (scope != nullptr && scope->mode() == decoder::AutogradMode::kTraining && on_host) {
    const at::Tensor& bias = convolution.bias;
    return TrainedConvolution::apply(
        x, TapOperands{convolution,
                       {scope->gradient(convolution.weight),
                        bias.defined() ? scope->gradient(bias) : at::Tensor()},
                       predecessors});
  }
  if (scope != nullptr) {
    return composed_convolution(convolution, x, *predecessors);
  }
  if (!has_convolution_kernels(x)) {  // the sum is rounded once, after the silu
    return convolve(convolution, decoder::in_type(x, at::kFloat), predecessors).to(x.scalar_type());
  }
  if (!on_host) {
    const at::Tensor y = composed_convolution(convolution, x, *predecessors);
    return into.defined() ? into.copy_(y) : y;
  }
  const at::Tensor y = into.defined() ? into : at::empty({x.size(0), x.size(1)}, x.options());
  convolve_into(convolution, x, *predecessors, y);
  return y;
}

}  // namespace quench::mamba
