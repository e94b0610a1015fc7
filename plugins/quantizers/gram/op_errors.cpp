#include "quantizers/gram/op_errors.hpp"

#include <ATen/ops/empty_like.h>

#include "quantizers/gram/squares.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/product.hpp"

namespace quench::quantizers {

void report_weight_error(const at::Tensor& weight, const at::Tensor& decoded, Gram& gram,
                         kit::QuantizeSink& sink) {
  if (gram.empty()) {
    return;
  }
  const at::Tensor rounded = decoded.to(weight.scalar_type());
  const OutputError part = gram.output_error(kit::view_of(weight), kit::view_of(rounded));
  sink.number("weight_error", part.reference > 0 ? part.error / part.reference : 0);
}

void report_activation_errors(const at::Tensor& weight, const at::Tensor& decoded,
                              const at::Tensor& sample, const ApplyOp& apply,
                              kit::QuantizeSink& sink) {
  const at::Tensor exact = matrix::product(sample, weight.to(at::kFloat).t());
  const at::Tensor rounded = matrix::product(sample, decoded.to(at::kFloat).t());
  const at::Tensor out = at::empty_like(exact);
  apply(sample, out);
  const double reference = sum_of_squares(exact);
  sink.number("activation_error", reference > 0 ? sum_of_squares(out.sub(rounded)) / reference : 0);
  sink.number("both_errors", reference > 0 ? sum_of_squares(out.sub(exact)) / reference : 0);
}

}  // namespace quench::quantizers
