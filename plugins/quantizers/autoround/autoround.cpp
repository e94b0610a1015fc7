// autoround: parameters, and the steps from a block to codes of its linears.
//
// All linears of a block are tuned together, before the first of them is quantized. Its inputs are
// those that the rounded blocks before it give, its target the float model's outputs, as published.
// The best iteration is kept, and none of them if rounding to nearest is better on all rows.
//
// A linear that is quantized without its block (`quench layer`, or objective = linear) is
// tuned for its own outputs.
#include "quantizers/autoround/autoround.hpp"

#include <algorithm>
#include <utility>

#include "quantizers/autoround/linear_objective.hpp"
#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/named_errors.hpp"
#include "quantizers/grid/weight.hpp"
#include "quench/kit/grid_parameters.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/finite.hpp"

namespace quench::quantizers {

namespace {

quench_status prepare_group(quench_quantizer* quantizer, quench_quantizer_state*,
                            const quench_group_weights_args* args, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    kit::expects(args->count > 0, "prepare: wanted a weight per linear");
    static_cast<AutoRound&>(kit::detail::self(quantizer)).prepare(args->weights[0]);
  });
}

void report(const Tuned& tuned, bool first, kit::QuantizeSink& sink) {
  sink.number("tuned_loss", tuned.loss);
  sink.number("plain_loss", tuned.plain_loss);
  sink.number("iteration", static_cast<double>(tuned.iteration));
  if (first) {
    sink.number("seconds.tune", tuned.seconds);
  }
}

}  // namespace

void AutoRound::Params::describe(kit::Fields<Params>& fields) {
  kit::add_bits(fields);
  kit::add_group_size(fields);
  kit::add_sym(fields);
  fields
      .add("iterations", &Params::iterations,
           "steps of sign gradient descent on a block (iters); 0: round to nearest")
      .range(0, 100000);
  fields
      .add("lr", &Params::lr,
           "length of the first step of each rounding offset, which is added to weight / scale; "
           "steps get linearly shorter down to 0. Not set: 1 / iterations")
      .range(0, 1);
  fields
      .add("minmax_lr", &Params::minmax_lr,
           "likewise of the factors on each group's range, which start at 1. Not set: as lr")
      .range(0, 1);
  fields.add("minmax", &Params::minmax,
             "whether to tune the range of each group, too (enable_minmax_tuning)");
  fields
      .add("batch_tokens", &Params::batch_tokens,
           "calibration tokens of a step, in whole micro-batches; published: 8 rows of 2048 "
           "(batch_size, seqlen). If there are no more than that, every step sees all")
      .at_least(1);
  fields
      .add("objective", &Params::objective,
           "error to minimize: of the block's outputs, by running it, or of each linear's, exactly "
           "from its Gram matrix (linear)")
      .choices("block|linear");
  fields
      .add("target", &Params::target,
           "outputs that the block is to give on the inputs from the rounded blocks before it: the "
           "float model's (float, enable_quanted_input), or its own float outputs on these inputs "
           "(quantized)")
      .choices("float|quantized");
  kit::add_modules(fields);
}

AutoRound::AutoRound(const Params& params) : params_(params), rules_(params.modules) {
  kit::check_group_size("autoround", params.group_size);
  kit::expects(params.minmax || !params.minmax_lr,
               "autoround: minmax_lr has no effect with minmax = false");
  kit::expects(params.objective == "block" || params.target == "float",
               "autoround: target has no effect with objective = linear");
}

uint32_t AutoRound::needs() const {
  if (params_.objective == "linear") {
    return QUENCH_NEEDS_ROWS | QUENCH_NEEDS_SEQUENTIAL;
  }
  return QUENCH_NEEDS_ROWS | QUENCH_NEEDS_BLOCK_ROWS | QUENCH_NEEDS_BLOCK_REPLAY |
         (params_.target == "float" ? QUENCH_NEEDS_FLOAT_STREAM : 0u);
}

std::unique_ptr<kit::QuantizerGroup> AutoRound::begin(const quench_group_args& group) {
  is_tuned_ = false;  // all groups of a block begin before one of them is prepared
  waiting_.clear();
  return std::make_unique<GramGroup>(group.in_features, false, kit::torch_device(group.device));
}

ModuleSetting AutoRound::setting_of(const quench_linear_info& linear) const {
  return rules_.setting_of(linear.name, {{params_.bits, params_.sym}, params_.group_size, false});
}

TuningOptions AutoRound::options(std::string stream) const {
  const double usual = params_.iterations > 0 ? 1.0 / static_cast<double>(params_.iterations) : 0;
  const double rate = params_.lr.value_or(usual);
  return {params_.iterations, rate, params_.minmax ? params_.minmax_lr.value_or(rate) : 0,
          params_.batch_tokens, std::move(stream)};
}

std::unique_ptr<TunedLinear> AutoRound::tuned_linear(const quench_linear_info& linear,
                                                     at::Tensor weight) const {
  const ModuleSetting setting = setting_of(linear);
  const Groups groups = groups_of(weight.size(1), setting.group_size);
  return std::make_unique<TunedLinear>(linear.name, linear.weight, std::move(weight), groups,
                                       setting.kind);
}

void AutoRound::prepare(const quench_tensor& weight) {
  if (params_.objective != "block" || is_tuned_) {
    return;
  }
  const quench_replay_place place = find_block();
  if (place.info == nullptr) {
    return;  // each linear is then tuned alone, and its record says so
  }
  is_tuned_ = true;
  tune_block(place, kit::same(weight.dtype, kit::kFloat64));
}

void AutoRound::tune_block(const quench_replay_place& place, bool float64) {
  std::vector<std::unique_ptr<TunedLinear>> made;
  std::vector<TunedLinear*> linears;
  for (uint32_t g = 0; g < place.info->group_count; ++g) {
    const quench_group_info& group = place.info->groups[g];
    for (uint32_t l = 0; l < group.linear_count; ++l) {
      if (setting_of(group.linears[l]).skip) {
        continue;
      }
      const at::Tensor weight = block_weight(group.linears[l], float64);
      if (!matrix::all_finite(weight)) {
        kit::fail(QUENCH_NUMERICAL, "%s: weight: not finite", group.linears[l].name);
      }
      linears.push_back(made.emplace_back(tuned_linear(group.linears[l], weight)).get());
    }
  }
  if (linears.empty()) {
    return;
  }
  const Target target = params_.target == "float" ? Target::kFloatModel : Target::kOwnInput;
  BlockObjective objective(place, linears, target);
  const Tuned tuned = tune(objective, linears, options("batches/" + std::to_string(place.block)));
  bool first = true;
  for (std::unique_ptr<TunedLinear>& linear : made) {
    const std::string parameter = linear->parameter();
    waiting_[parameter] = {std::move(linear), tuned, std::exchange(first, false)};
  }
}

AutoRound::Waiting AutoRound::tune_alone(GramGroup& group, const quench_linear_info& linear,
                                         at::Tensor weight, kit::QuantizeSink& sink) const {
  if (params_.objective == "block") {
    sink.text("objective", "linear: no block to run it in");
  }
  Waiting alone;
  alone.linear = tuned_linear(linear, std::move(weight));
  LinearObjective objective(*alone.linear, group.gram());
  TunedLinear* const only = alone.linear.get();
  alone.tuned = tune(objective, {&only, 1}, options(""));
  alone.first = true;
  return alone;
}

void AutoRound::quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                         kit::QuantizeSink& sink) {
  name_errors(linear.info.name,
              [&] { quantize_linear(static_cast<GramGroup&>(group), linear, sink); });
}

void AutoRound::quantize_linear(GramGroup& group, const kit::LinearToQuantize& linear,
                                kit::QuantizeSink& sink) {
  const c10::InferenceMode inference;
  const at::Tensor weight = host_weight(linear);
  if (setting_of(linear.info).skip) {
    keep_float(weight, linear, sink);
    return;
  }
  Waiting own;
  if (const auto found = waiting_.find(linear.info.weight); found != waiting_.end()) {
    own = std::move(found->second);
    waiting_.erase(found);
    if (!own.linear->weight().equal(weight)) {
      kit::fail(QUENCH_UNSUPPORTED,
                "the weight is not the one that its block was tuned with (a transform that scales "
                "inputs as the model runs?); wanted objective = linear");
    }
  } else {
    own = tune_alone(group, linear.info, weight, sink);
  }
  const Coded& best = own.linear->best();
  const Coded coded = make_coded(sink, best.rows, best.columns, best.groups);
  std::copy(best.codes.begin(), best.codes.end(), coded.codes.begin());
  std::copy(best.scales.begin(), best.scales.end(), coded.scales.begin());
  std::copy(best.zeros.begin(), best.zeros.end(), coded.zeros.begin());
  fill_group_index(coded, own.linear->groups());
  dequantize(coded, linear.dequantized, linear.info.name);
  report(own.tuned, own.first, sink);
  const GridKind kind = own.linear->kind();
  sink.number("bits", static_cast<double>(kind.bits));
  sink.number("bits_per_weight", bits_per_weight(coded, kind, false));
}

// All linears of a block are tuned at once, so that what each of them takes counts from the first
// row on, which the host sums over a block: weight, offsets, rounded weight, gradient, best codes,
// and the weight that the host sets aside while the rounded one is in its place. One that is tuned
// alone has the Gram matrix of its inputs in the weight's type, and two products with it.
kit::GroupMemory AutoRound::memory(const kit::GroupShapes& shapes) const {
  const auto in = static_cast<uint64_t>(shapes.in_features);
  const uint64_t element = shapes.weight_dtype.bits / 8;
  const uint64_t largest = shapes.largest_weight();
  const uint64_t coded =
      coded_bytes(largest, shapes.in_features, groups_of(shapes.in_features, params_.group_size));
  kit::GroupMemory out;
  out.observing = gram_bytes(shapes, false);
  out.linear = coded;
  if (params_.objective == "linear") {
    out.linear += TunedLinear::bytes(largest, element) + (in * in + 2 * largest) * element;
    return out;
  }
  for (uint32_t l = 0; l < shapes.info.linear_count; ++l) {
    const uint64_t weights = static_cast<uint64_t>(shapes.info.linears[l].out_features) * in;
    out.observing += TunedLinear::bytes(weights, element) + 2 * weights * element;
  }
  return out;
}

void AutoRound::add_functions(quench_quantizer_table& table) {
  add_gram_functions(table);
  table.prepare = prepare_group;
}

}  // namespace quench::quantizers

QUENCH_MODULE(
    "quench.autoround", "0.1.0",
    quench::kit::quantizer<quench::quantizers::AutoRound>(
        {.id = "autoround",
         .version = "0.1.0",
         .summary = "Learns by sign gradient descent on each block's output which way "
                    "weights are rounded and what their grids span.",
         .reference = "Cheng et al. 2023, Optimize Weight Rounding via Signed Gradient "
                      "Descent for the Quantization of LLMs, arXiv 2309.05516, algorithm 1",
         .example = "{bits: 4, group_size: 128}"}))
