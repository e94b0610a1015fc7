// awq: parameters, and the steps from a group's statistics to codes of scaled weights.
//
// Returns Q(W diag(s)) diag(1/s). This is the effective weight whether s is folded into the
// preceding weights or divides the linear's inputs. Codes, scales and zeros are those of W diag(s),
// and "channel_scale" is s.
//
// A group's scale is chosen by the output error of all its linears, computed exactly from the Gram
// matrix. With `objective: block` it is chosen by the change of the block's output after this group
// and the next, which published tools measure on a parent module.
//
// Presets are the defaults of published tools: AutoAWQ 0.2 and llm-compressor 0.14.
#include "quantizers/awq/awq.hpp"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "quantizers/awq/device/objective_on_device.hpp"
#include "quantizers/awq/device/rounding_by_kernel.hpp"
#include "quantizers/awq/effective_weight.hpp"
#include "quantizers/awq/search.hpp"
#include "quantizers/cache/cache_rounding.hpp"
#include "quantizers/gram/gram_group.hpp"
#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/named_errors.hpp"
#include "quantizers/grid/weight.hpp"
#include "quantizers/inputs/rounded_linear.hpp"
#include "quantizers/number_format/format_parameter.hpp"
#include "quantizers/number_format/formatted_weight.hpp"
#include "quantizers/number_format/scale_rule.hpp"
#include "quantizers/rotated/rotatable.hpp"
#include "quench/kit/grid_parameters.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/finite.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

constexpr const char* kPresets = R"({
  "autoawq": {"grid": "tight", "ratios": "autoawq", "clip": "but_qk"},
  "llm_compressor": {"grid": "compressed", "ratios": "llm_compressor"}
})";

GridRule rule_of(const std::string& grid) {
  return grid == "tight"        ? GridRule::kTight
         : grid == "compressed" ? GridRule::kCompressed
                                : GridRule::kWidened;
}

// Whether the products of this linear with another are attention scores.
bool makes_scores(const quench_linear_info& linear) {
  const std::string role = linear.role != nullptr ? linear.role : "";
  return role == "q" || role == "k" || role == "qkv";
}

quench_status prepare_group(quench_quantizer* quantizer, quench_quantizer_state* state,
                            const quench_group_weights_args* args, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    static_cast<Awq&>(kit::detail::self(quantizer))
        .prepare(static_cast<AwqGroup&>(*kit::detail::self(state).group), args->weights,
                 args->count);
  });
}

quench_status apply_awq_plan(quench_quantizer* quantizer, const quench_model_editor* editor,
                             quench_error* error) noexcept {
  return kit::guard(error, [&] {
    kit::ModelEditor model(*editor);
    static_cast<const Awq&>(kit::detail::self(quantizer)).apply_plan(model);
  });
}

void begin_awq_pass(quench_quantizer* quantizer) noexcept {
  static_cast<Awq&>(kit::detail::self(quantizer)).begin_pass();
}

// The mean squared errors of the outputs of the group's linears.
std::vector<double> gram_losses(AwqGroup& group, std::span<const NamedWeight> weights,
                                std::span<const std::vector<double>> scales) {
  const auto objective = gram_objective(group.gram().matrix(), weights.front().weight);
  double outputs = 0;
  for (const NamedWeight& named : weights) {
    outputs += static_cast<double>(named.weight.rows) * group.gram().rows();
  }
  std::vector<double> found;
  for (const std::vector<double>& scale : scales) {
    double error = 0;
    for (const NamedWeight& named : weights) {
      error += objective->error(named.weight, scale, {});
    }
    found.push_back(error / outputs);
  }
  return found;
}

// A vector [columns] of ones, which stands for no scale.
std::vector<double> ones(int64_t columns) {
  return std::vector<double>(static_cast<size_t>(columns), 1.0);
}

}  // namespace

void Awq::Params::describe(kit::Fields<Params>& fields) {
  fields.add("preset", &Params::preset, "whose defaults to use: those of a published tool")
      .choices("none|autoawq|llm_compressor");
  kit::add_bits(fields, "w_bit");
  kit::add_group_size(fields, "q_group_size");
  kit::add_sym(fields, "zero_point: false");
  add_format(fields,
             "a number format in place of the integer grid, with the scales and blocks of its "
             "specification; group_size is that of fp8, ternary and binary. bits and sym then keep "
             "their defaults, and grid has no effect");
  fields
      .add("mse", &Params::mse,
           "with a format: 2 for scales with the least squared error of a block of the scaled "
           "weight; 0, as if not set: those of the format's specification")
      .range(0, 2);
  fields
      .add("grid", &Params::grid,
           "what a group's grid spans: its extremes and 0 (widened), its extremes alone "
           "(tight, AutoAWQ; symmetric with one step less), or widened and symmetric even for "
           "groups of one sign (compressed, llm-compressor)")
      .choices("widened|tight|compressed");
  fields
      .add("ratios", &Params::ratios,
           "exponents to try: i / n below 1 (autoawq), or up to 1 and the identity first "
           "(llm_compressor)")
      .choices("autoawq|llm_compressor");
  fields.add("candidates", &Params::candidates, "number of scales to try (n_grid)").range(3, 1000);
  fields
      .add("duo", &Params::duo,
           "whether scales also fall with the weights' magnitudes (duo_scaling); both: half each")
      .choices("on|off|both");
  fields
      .add("clip", &Params::clip,
           "whether to also search a clipping per group: for all linears, or for all but those "
           "that make attention scores, as published (apply_clip)")
      .choices("off|but_qk|all");
  fields
      .add("clip_steps", &Params::clip_steps,
           "one clipping step removes 1/clip_steps of the magnitude")
      .range(1, 1000);
  fields
      .add("clip_least", &Params::clip_least,
           "lowest clipping to try, as a share of the magnitude (1 - max_shrink)")
      .range(0, 1);
  fields
      .add("unfoldable", &Params::unfoldable,
           "if no preceding weight can absorb a group's scale: divide the group's inputs "
           "by it at run time (explicit), or do not scale the group (skip)")
      .choices("explicit|skip");
  fields
      .add("share", &Params::share,
           "one scale per group, which can be folded, or one per linear, "
           "which cannot")
      .choices("group|linear");
  fields
      .add("objective", &Params::objective,
           "error to minimize: of the linears' outputs, exactly (gram), or of the block after "
           "the next group, by running it (block)")
      .choices("gram|block");
  kit::add_inputs(fields, "float|sequential", "published: float");
  fields.add("unscaled", &Params::unscaled,
             "groups not to scale, by the name of a linear: \"*.q_proj\"");
  kit::add_modules(fields);
  add_activations(fields);
  add_rotation(fields);
  add_cache(fields);
}

Awq::Awq(const Params& params)
    : params_(params),
      rules_(params.modules),
      activations_(activation_settings(params)),
      cache_(cache_settings(params)),
      format_(chosen_format("awq", params)) {
  kit::check_group_size("awq", params.group_size);
  kit::expects(!params.mse || format_ != nullptr, "awq: mse has no effect without a format");
  kit::expects(params.mse.value_or(0) == 0 || params.clip == "off",
               "awq: mse and clip both choose the scale of a block; wanted clip = off");
  kit::expects(params.share == "group" || params.objective == "gram",
               "awq: objective = block is for groups; wanted share = group");
  kit::expects(!activations_.rounds() || params.inputs != "float",
               "awq: rounded activations reach later linears; wanted inputs = sequential");
  kit::expects(activations_.activation_range != "percentile",
               "awq: activation_range = percentile is of inputs before they are scaled; wanted "
               "max or dynamic");
  check_activations("awq", activations_, params);
  check_cache("awq", cache_, params, params.inputs == "float");
}

uint32_t Awq::needs() const {
  return QUENCH_NEEDS_ROWS | QUENCH_TAKES_DEVICE_WEIGHTS |
         (params_.inputs == "float" ? QUENCH_NEEDS_FLOAT_ROWS : QUENCH_NEEDS_SEQUENTIAL) |
         (params_.objective == "block" ? QUENCH_NEEDS_BLOCK_REPLAY : 0u) | activations_.needs() |
         cache_.needs();
}

std::unique_ptr<kit::QuantizerGroup> Awq::begin(const quench_group_args& group) {
  auto made = std::make_unique<AwqGroup>(group.in_features, group);
  observe_inputs(*made, group.in_features, activations_);
  return made;
}

ModuleSetting Awq::setting_of(const quench_linear_info& linear) const {
  return rules_.setting_of(
      linear.name,
      {{params_.bits, params_.sym, params_.mse.value_or(0)}, params_.group_size, false});
}

ScaledWeight Awq::scaled(const at::Tensor& weight, const ModuleSetting& setting,
                         const char* name) const {
  const int64_t columns = weight.size(1);
  ScaledWeight out{weight,
                   weight.size(0),
                   columns,
                   setting.kind,
                   format_ != nullptr ? format_groups(*format_, columns, setting.group_size, name)
                                      : groups_of(columns, setting.group_size),
                   rule_of(params_.grid),
                   format_};
  if (format_ != nullptr && format_->has_tensor_scale()) {
    out.column_most = column_magnitudes(weight);
  }
  return out;
}

bool Awq::by_kernels() const {
  return format_ == nullptr ||
         finds_scales_by_kernel(*format_, scale_rule_of(params_.mse.value_or(0)));
}

at::Device Awq::device_of(const AwqGroup& group) const {
  return by_kernels() ? group.device() : at::Device(at::kCPU);
}

std::string Awq::unscaled_because(const AwqGroup& group) const {
  for (uint32_t l = 0; l < group.info().linear_count; ++l) {
    for (const std::string& pattern : params_.unscaled) {
      if (matches(pattern, group.info().linears[l].name)) {
        return "listed in `unscaled`";
      }
    }
  }
  return params_.unfoldable == "skip" && !group.foldable() ? "no preceding weight can absorb it"
                                                           : "";
}

bool Awq::replays(const AwqGroup& group) const {
  return params_.objective == "block" && group.info().rows < 0;
}

FoundScale Awq::search(AwqGroup& group, std::span<const NamedWeight> weights) const {
  Losses losses = [&](std::span<const std::vector<double>> scales) {
    return gram_losses(group, weights, scales);
  };
  if (replays(group)) {
    losses = [&](std::span<const std::vector<double>> scales) {
      return replay_losses(weights, scales);
    };
  }
  std::vector<ScaledWeight> plain;
  for (const NamedWeight& weight : weights) {
    plain.push_back(weight.weight);
  }
  return search_scale(candidates_of(params_.ratios, params_.duo, params_.candidates),
                      group.input_magnitudes(), plain, losses);
}

void Awq::prepare(AwqGroup& group, const quench_tensor* weights, uint32_t count) {
  const c10::InferenceMode inference;
  if (params_.share != "group" || !unscaled_because(group).empty()) {
    return;
  }
  kit::expects(count == group.info().linear_count, "prepare: wanted a weight per linear");
  std::vector<NamedWeight> named;
  for (uint32_t l = 0; l < count; ++l) {
    const quench_linear_info& linear = group.info().linears[l];
    const ModuleSetting setting = setting_of(linear);
    if (!setting.skip) {
      const at::Tensor weight = kit::borrow(weights[l]).to(device_of(group)).contiguous();
      if (!matrix::on_host(weight) && !matrix::all_finite(weight)) {
        kit::fail(QUENCH_NUMERICAL, "%s: weight: not finite", linear.name);
      }
      named.push_back({linear.weight, scaled(weight, setting, linear.name)});
    }
  }
  if (!named.empty()) {
    FoundScale found = search(group, named);
    plan_[group.place()] = found.scale;
    group.keep(this, std::move(found));
  }
}

void Awq::apply_plan(kit::ModelEditor& model) const {
  for (const auto& [place, scale] : plan_) {
    const quench_group_info& group = model.block(place.first).groups[place.second];
    model.change(group.linears[0].name, group.site_count > 0 ? "folded" : "explicit");
    if (group.site_count > 0) {
      model.fold(group, scale);
    }
  }
}

Limits Awq::limits_for(const ScaledWeight& weight, std::span<const double> scale,
                       const quench_linear_info& linear, const GramObjective& objective) const {
  if (params_.clip == "off" || (params_.clip == "but_qk" && makes_scores(linear))) {
    return {};
  }
  const double range = (1 - params_.clip_least) * static_cast<double>(params_.clip_steps);
  const auto levels = std::max<int64_t>(static_cast<int64_t>(std::floor(range + 1e-9)), 1);
  return objective.best_limits(weight, scale, levels, params_.clip_steps);
}

void Awq::quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                   kit::QuantizeSink& sink) {
  round_cache(cache_, linear, sink);
  name_errors(linear.info.name,
              [&] { quantize_linear(static_cast<AwqGroup&>(group), linear, sink); });
}

void Awq::quantize_linear(AwqGroup& group, const kit::LinearToQuantize& linear,
                          kit::QuantizeSink& sink) {
  const c10::InferenceMode inference;
  const at::Tensor weight = weight_on(linear, device_of(group));
  const ModuleSetting setting = setting_of(linear.info);
  if (setting.skip) {
    keep_float(weight, linear, sink);
    return;
  }
  const ScaledWeight own = scaled(weight, setting, linear.info.name);
  const std::string unscaled = unscaled_because(group);
  FoundScale found;
  if (const FoundScale* prepared = group.found(this)) {
    found = *prepared;
  } else if (unscaled.empty()) {
    const NamedWeight named{linear.info.weight, own};
    found = search(group, {&named, 1});
  }
  const bool scales = !found.scale.empty();
  const std::vector<double> scale = scales ? found.scale : ones(own.columns);
  const auto objective = gram_objective(group.gram().matrix(), own);
  const Limits limits = limits_for(own, scale, linear.info, *objective);
  // Of W diag(s), by which an op multiplies x / s.
  const at::Tensor codes_alone = activations_.rounds() ? at::empty_like(own.weight) : at::Tensor();
  double bits = format_ != nullptr ? write_format(own, found, limits, linear, sink, codes_alone)
                                   : write_codes(own, found, limits, linear, sink, codes_alone);
  if (scales) {
    const auto kept = sink.tensor<double>("channel_scale", {own.columns});
    std::copy(scale.begin(), scale.end(), kept.begin());
  }
  const double outputs = static_cast<double>(own.rows) * group.gram().rows();
  sink.number("loss", objective->error(own, scale, limits) / outputs);
  report(group, found, unscaled, sink);
  if (scales && !(group.foldable() && params_.share == "group")) {
    bits += 16.0 / static_cast<double>(own.rows);  // float16 per channel, counted for each linear
  }
  sink.number("bits_per_weight", bits);
  if (codes_alone.defined()) {
    const at::Tensor effective = kit::borrow(linear.dequantized);
    round_inputs(
        activations_, linear, group,
        {weight.to(group.device()), effective, codes_alone.to(group.device()), found.scale}, sink);
  }
}

double Awq::write_codes(const ScaledWeight& own, const FoundScale& found, const Limits& limits,
                        const kit::LinearToQuantize& linear, kit::QuantizeSink& sink,
                        const at::Tensor& codes_alone) const {
  const std::vector<double> scale = found.scale.empty() ? ones(own.columns) : found.scale;
  Coded coded{own.rows, own.columns, own.groups.count, {}, {}, {}, {}};
  if (stays_on_device(linear)) {
    const CodedThere made = RoundingByKernel(own, scale).code(limits);
    write_effective_weight(made, own.groups, found.scale, kit::borrow(linear.dequantized),
                           linear.info.name);
    if (codes_alone.defined()) {
      write_effective_weight(made, own.groups, {}, codes_alone, linear.info.name);
    }
  } else {
    coded = make_coded(sink, coded.rows, coded.columns, coded.groups);
    fill_group_index(coded, own.groups);
    if (matrix::on_host(own.weight)) {
      code_rows(own, scale, limits, coded);
    } else {
      take(RoundingByKernel(own, scale).code(limits), coded);
    }
    write_effective_weight(coded, found.scale, kit::borrow(linear.dequantized), linear.info.name);
    if (codes_alone.defined()) {
      write_effective_weight(coded, {}, codes_alone, linear.info.name);
    }
  }
  sink.number("bits", static_cast<double>(own.kind.bits));
  return bits_per_weight(coded, own.kind, false);
}

double Awq::write_format(const ScaledWeight& own, const FoundScale& found, const Limits& limits,
                         const kit::LinearToQuantize& linear, kit::QuantizeSink& sink,
                         const at::Tensor& codes_alone) const {
  const std::vector<double> scale = found.scale.empty() ? ones(own.columns) : found.scale;
  const double tensor_scale = tensor_scale_of(own, scale);
  if (rounds_on_host(own)) {
    const CodedStorage made(own.rows, own.columns, own.groups);
    code_rows(own, scale, limits, made.view());
    put_formatted(*format_, tensor_scale, own.groups, made.view(), linear, sink);
  } else {
    put_formatted(*format_, tensor_scale, own.groups, RoundingByKernel(own, scale).code(limits),
                  linear, sink);
  }
  const at::Tensor target = kit::borrow(linear.dequantized);
  if (codes_alone.defined()) {
    codes_alone.copy_(target);
  }
  divide_by_scale(target, found.scale, linear.info.name);
  return format_->bits_per_value(static_cast<double>(own.rows * own.columns),
                                 static_cast<double>(own.rows * own.groups.count));
}

void Awq::report(AwqGroup& group, const FoundScale& found, const std::string& unscaled,
                 kit::QuantizeSink& sink) const {
  if (!unscaled.empty()) {
    sink.text("channel_scaling", "none: " + unscaled);
    return;
  }
  const bool folds = group.foldable() && params_.share == "group";
  sink.text("channel_scaling", folds ? "folded" : "explicit");
  sink.number("ratio", found.candidate.ratio);
  sink.number("duo", found.candidate.duo ? 1 : 0);
  if (params_.objective == "block" && group.info().rows >= 0) {
    sink.text("objective", "gram: rows are routed");
  }
  sink.number("search_loss", found.loss);
  sink.number("plain_loss", found.plain_loss);
}

bool Awq::accepts_groups_of(const kit::Quantizer& other) const {
  const Params& theirs = static_cast<const Awq&>(other).params_;
  return theirs.inputs == params_.inputs && theirs.objective == params_.objective &&
         static_cast<const Awq&>(other).activations_ == activations_;
}

// Per linear, in host memory: the Gram matrix in float32 for the search, the codes, and the
// dequantized weight. On a device the search holds errors of some rows, which are gone before codes
// are made. A search by running the block has, of all linears of the group, the weight, the rounded
// one and what the host sets aside, and errors of one of them, where the host counts two weights.
kit::GroupMemory Awq::memory(const kit::GroupShapes& shapes) const {
  const auto in = static_cast<uint64_t>(shapes.in_features);
  const uint64_t weights = shapes.largest_weight();
  const uint64_t element = shapes.weight_dtype.bits / 8;
  const uint64_t coded =
      coded_bytes(weights, shapes.in_features,
                  groups_of(shapes.in_features, group_size_with(format_, params_.group_size)));
  kit::GroupMemory out;
  out.observing = gram_bytes(shapes, false);
  out.linear = shapes.on_device && by_kernels()
                   ? std::max(coded, objective_bytes_on_device(weights / in, in))
                   : in * in * sizeof(float) + coded + weights * element;
  if (params_.objective == "block") {
    uint64_t all = 0;
    for (uint32_t l = 0; l < shapes.info.linear_count; ++l) {
      all += static_cast<uint64_t>(shapes.info.linears[l].out_features) * in;
    }
    out.linear = std::max(out.linear, (3 * all - 2 * weights) * element + weights * sizeof(float));
  }
  return out;
}

void Awq::add_functions(quench_quantizer_table& table) {
  add_gram_functions(table);
  table.prepare = prepare_group;
  table.apply_plan = apply_awq_plan;
  table.begin_pass = begin_awq_pass;
}

}  // namespace quench::quantizers

QUENCH_MODULE("quench.awq", "0.1.0",
              quench::quantizers::rotatable<quench::quantizers::Awq>(
                  {.id = "awq",
                   .version = "0.1.0",
                   .summary = "Scales up important input channels before rounding, by the "
                              "scale that a search finds for each group of linears.",
                   .reference = "Lin et al. 2024, AWQ, arXiv 2306.00978, section 3.2",
                   .example = "{bits: 4, group_size: 128}",
                   .presets_json = quench::quantizers::kPresets}))
