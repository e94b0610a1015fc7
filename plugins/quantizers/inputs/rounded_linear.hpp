// The op that stands in for a linear whose inputs are rounded, and what a quantizer calls for it.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "quantizers/gram/gram_group.hpp"
#include "quantizers/inputs/rounding.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

// y = round(x / scale) · weightᵀ. Rows are rounded in float32, or in float64 if x is, and so are
// products and sums. Without a rounding x · weightᵀ, in the same way.
class RoundedLinear {
 public:
  // `weight` [out, in], which says where products are computed. `scale` [in] divides the inputs
  // before they are rounded; empty: none does.
  RoundedLinear(at::Tensor weight, std::span<const double> scale, InputRounding rounding);
  explicit RoundedLinear(at::Tensor weight) : weight_(std::move(weight)) {}

  // y [N, out] of x [N, in], both where the weight is, float64, float32 or 16 bits.
  void apply(const at::Tensor& x, const at::Tensor& y) const;
  // round(x / scale) * scale [N, in], which multiplies a weight that is for x as it is.
  void inputs(const at::Tensor& x, const at::Tensor& rounded) const;
  const InputRounding& rounding() const { return *rounding_; }  // only of one that rounds

 private:
  // x in memory of its own on `device`, divided.
  at::Tensor divided(const at::Tensor& x, at::Device device) const;
  // round(x / scale), where the weight is.
  at::Tensor rounded_rows(const at::Tensor& x) const;

  at::Tensor weight_;
  at::Tensor scale_;  // float64 [in], where the weight is, or undefined
  std::optional<InputRounding> rounding_;
};

// Hands it to the sink, which then owns it.
void give_op(std::unique_ptr<RoundedLinear> op, kit::QuantizeSink& sink);

// Has `group` look at the rows that settings need. For `begin`.
void observe_inputs(GramGroup& group, int64_t columns, const ActivationSettings& settings);

// Bytes of an op's making beside the weight's own (kit::GroupMemory).
void add_memory(kit::GroupMemory& memory, const kit::GroupShapes& shapes,
                const ActivationSettings& settings);

// The weight that an op multiplies by.
struct OpWeight {
  const at::Tensor& given;    // the float weight
  const at::Tensor& decoded;  // that which takes its place, for x as it is
  at::Tensor multiplied;      // `decoded` times `scale` by columns; kept
  std::span<const double> scale;
};

// Hands the op to the sink and records what it costs, if settings round the inputs of this linear.
// The output head and the embedding keep theirs: the host has no ops for them. Call it last.
void round_inputs(const ActivationSettings& settings, const kit::LinearToQuantize& linear,
                  GramGroup& group, OpWeight weight, kit::QuantizeSink& sink);
// The same with what `dequantized` of the linear holds.
void round_inputs(const ActivationSettings& settings, const kit::LinearToQuantize& linear,
                  GramGroup& group, const at::Tensor& weight, kit::QuantizeSink& sink);

}  // namespace quench::quantizers
