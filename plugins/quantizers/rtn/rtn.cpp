// rtn: scales and zeros from the extremes of each group of a row, codes by rounding, all in float64
// (formulas: shared/grid/grid.hpp), or the elements and scales of a number format
// (shared/number_formats/number_format.hpp). The result is rounded once to the weight's dtype.
#include "quantizers/rtn/rtn.hpp"

#include "quantizers/cache/cache_rounding.hpp"
#include "quantizers/gram/gram_group.hpp"
#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/round_rows.hpp"
#include "quantizers/grid/weight.hpp"
#include "quantizers/inputs/rounded_linear.hpp"
#include "quantizers/number_format/format_parameter.hpp"
#include "quantizers/number_format/formatted_weight.hpp"
#include "quantizers/number_format/scale_rule.hpp"
#include "quantizers/rotated/rotatable.hpp"
#include "quench/kit/grid_parameters.hpp"
#include "quench/kit/torch.hpp"
#include "shared/grid/grid.hpp"

namespace quench::quantizers {

void Rtn::Params::describe(kit::Fields<Params>& fields) {
  kit::add_bits(fields);
  kit::add_group_size(fields);
  kit::add_sym(fields);
  kit::add_mse(fields);
  add_format(fields);
  kit::add_modules(fields);
  fields.add("lm_head", &Params::lm_head, "also round the output head, unless it is tied");
  fields.add("embedding", &Params::embedding, "also round the token embedding");
  add_activations(fields);
  add_rotation(fields);
  add_cache(fields);
}

Rtn::Rtn(const Params& params)
    : params_(params),
      rules_(params.modules),
      activations_(activation_settings(params)),
      cache_(cache_settings(params)),
      format_(chosen_format("rtn", params)) {
  kit::check_group_size("rtn", params.group_size);
  check_activations("rtn", activations_, params);
  check_cache("rtn", cache_, params);
}

std::unique_ptr<kit::QuantizerGroup> Rtn::begin(const quench_group_args& group) {
  auto made =
      std::make_unique<GramGroup>(group.in_features, false, kit::torch_device(group.device));
  observe_inputs(*made, group.in_features, activations_);
  return made;
}

// Rows change no code; with them the host can ask for the output error.
uint32_t Rtn::needs() const {
  return QUENCH_USES_ROWS | QUENCH_TAKES_DEVICE_WEIGHTS |
         (params_.lm_head ? QUENCH_QUANTIZES_HEAD : 0u) |
         (params_.embedding ? QUENCH_QUANTIZES_EMBEDDING : 0u) | activations_.needs() |
         cache_.needs();
}

void Rtn::quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                   kit::QuantizeSink& sink) {
  const c10::InferenceMode inference;
  round_cache(cache_, linear, sink);
  const ModuleSetting setting = rules_.setting_of(
      linear.info.name, {{params_.bits, params_.sym, params_.mse}, params_.group_size, false});
  const at::Tensor weight = weight_on(linear, static_cast<GramGroup&>(group).device());
  if (setting.skip) {
    keep_float(weight, linear, sink);
    return;
  }
  if (format_ != nullptr) {
    const Groups blocks =
        format_groups(*format_, weight.size(1), setting.group_size, linear.info.name);
    put_rounded(weight, *format_, scale_rule_of(setting.kind), blocks, linear, sink);
  } else {
    round_to_grid(weight, setting, linear, sink);
  }
  round_inputs(activations_, linear, static_cast<GramGroup&>(group), weight, sink);
}

void Rtn::round_to_grid(const at::Tensor& weight, const ModuleSetting& setting,
                        const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) {
  const Groups groups = groups_of(weight.size(1), setting.group_size);
  Coded coded{weight.size(0), weight.size(1), groups.count, {}, {}, {}, {}};
  if (stays_on_device(linear)) {
    round_rows_into(weight, groups, setting.kind, kit::borrow(linear.dequantized),
                    linear.info.name);
  } else {
    coded = make_coded(sink, coded.rows, coded.columns, coded.groups);
    fill_group_index(coded, groups);
    round_rows(weight, weight.device(), groups, setting.kind, coded);
    dequantize(coded, linear.dequantized, linear.info.name);
  }
  sink.number("bits", static_cast<double>(setting.kind.bits));
  sink.number("bits_per_weight", bits_per_weight(coded, setting.kind, false));
}

kit::GroupMemory Rtn::memory(const kit::GroupShapes& shapes) const {
  kit::GroupMemory out;
  out.observing = gram_bytes(shapes, false);
  out.linear =
      coded_bytes(shapes.largest_weight(), shapes.in_features,
                  groups_of(shapes.in_features, group_size_with(format_, params_.group_size)));
  add_memory(out, shapes, activations_);
  return out;
}

void Rtn::add_functions(quench_quantizer_table& table) {
  add_gram_functions(table);
}

}  // namespace quench::quantizers

QUENCH_MODULE("quench.rtn", "0.2.0",
              quench::quantizers::rotatable<quench::quantizers::Rtn>(
                  {.id = "rtn",
                   .version = "0.2.0",
                   .summary = "Rounds every weight to the nearest value of its group's grid.",
                   .example = "{bits: 4, group_size: 128}"}))
