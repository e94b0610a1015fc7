// activations: W16A8 and the like. Each linear becomes an op that rounds its input and multiplies
// it by the float weight, so that what rounding of inputs costs is measured apart from that of
// weights. `rtn`, `gptq` and `awq` have the same parameters for both together. With `rotate` and
// `activations: float` the op rounds nothing: a control, whose loss is the float model's. With
// `cache` and `activations: float` keys and values alone are rounded.
#include "quantizers/activations/activations.hpp"

#include "quantizers/cache/cache_rounding.hpp"
#include "quantizers/gram/gram_group.hpp"
#include "quantizers/grid/weight.hpp"
#include "quantizers/inputs/rounded_linear.hpp"
#include "quantizers/rotated/rotatable.hpp"
#include "quench/kit/grid_parameters.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

void Activations::Params::describe(kit::Fields<Params>& fields) {
  add_activations(fields);
  add_rotation(fields);
  add_cache(fields);
  kit::add_modules(fields);
}

Activations::Activations(const Params& params)
    : rules_(params.modules),
      activations_(activation_settings(params)),
      rotation_(params),
      cache_(cache_settings(params)) {
  check_activations("activations", activations_, params);
  check_cache("activations", cache_, params);
  kit::expects(activations_.rounds() || rotation_.rotates() || cache_.acts(),
               "activations: activations = float rounds nothing; wanted a format, cache or rotate");
  for (const std::string& rule : params.modules) {
    kit::expects(rule.ends_with(" skip"), "modules: activations only allows \"PATTERN skip\"");
  }
}

uint32_t Activations::needs() const {
  return QUENCH_USES_ROWS | QUENCH_TAKES_DEVICE_WEIGHTS | activations_.needs() |
         (rotation_.rotates() ? QUENCH_MAKES_LINEAR_OP : 0u) | cache_.needs();
}

std::unique_ptr<kit::QuantizerGroup> Activations::begin(const quench_group_args& group) {
  auto made =
      std::make_unique<GramGroup>(group.in_features, false, kit::torch_device(group.device));
  observe_inputs(*made, group.in_features, activations_);
  return made;
}

void Activations::quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                           kit::QuantizeSink& sink) {
  const c10::InferenceMode inference;
  round_cache(cache_, linear, sink);
  auto& own = static_cast<GramGroup&>(group);
  const at::Tensor weight = weight_on(linear, own.device());
  if (rules_.setting_of(linear.info.name, {{8, true}, -1, false}).skip) {
    keep_float(weight, linear, sink);
    return;
  }
  kit::borrow(linear.dequantized).copy_(weight);
  sink.number("bits", 16);
  sink.number("bits_per_weight", 16);
  if (activations_.rounds()) {
    round_inputs(activations_, linear, own, weight, sink);
  } else if (rotation_.rotates(linear.info)) {
    give_op(std::make_unique<RoundedLinear>(weight.clone()), sink);
  }
}

kit::GroupMemory Activations::memory(const kit::GroupShapes& shapes) const {
  kit::GroupMemory out;
  out.observing = gram_bytes(shapes, false);
  add_memory(out, shapes, activations_);
  return out;
}

void Activations::add_functions(quench_quantizer_table& table) {
  add_gram_functions(table);
}

}  // namespace quench::quantizers

QUENCH_MODULE("quench.activations", "0.1.0",
              quench::quantizers::rotatable<quench::quantizers::Activations>(
                  {.id = "activations",
                   .version = "0.1.0",
                   .summary = "Rounds the inputs of linears and leaves their weights in float.",
                   .example = "{activations: int8, activation_per: token}"}))
