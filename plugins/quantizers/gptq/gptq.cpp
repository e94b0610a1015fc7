// gptq: parameters, checks, and the steps from a group's Gram matrix to codes.
//
// The factorization is done once per group, in float64, and shared by its linears. Updates of later
// columns are float32, or float64 on request or for a float64 weight (see solver.hpp for what that
// covers). gram.hpp computes the Gram matrix.
//
// Presets are the defaults of published tools. `study`: GPTQModel 2.2 to 3.0, whose damping retries
// cumulatively; `study_damp05`: 4.0 to 4.2; `modern`: from 5.0 on. The first two also include
// padding in the Hessian: set `pads: counted` in the calibration.
#include "quantizers/gptq/gptq.hpp"

#include <algorithm>
#include <chrono>

#include "quantizers/cache/cache_rounding.hpp"
#include "quantizers/gptq/group.hpp"
#include "quantizers/gptq/solver.hpp"
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
#include "shared/matrix/on_host.hpp"

namespace quench::quantizers {

namespace {

// An embedding has no input rows, so it is rounded to nearest.
bool is_embedding(const quench_linear_info& linear) {
  return linear.role != nullptr && std::string(linear.role) == "embedding";
}

// Records the state of the group's inputs and how the factor was found.
void report_health(const GptqGroup::Made& made, double rows, kit::QuantizeSink& sink) {
  const Factor& factor = made.factor;
  sink.number("rows", rows);
  sink.number("dead", static_cast<double>(factor.dead_count));
  sink.number("damp", factor.damp);
  sink.number("retries", static_cast<double>(factor.retries));
  sink.number("diagonal_mean", factor.mean_diagonal);
  sink.number("diagonal_max", factor.largest_diagonal);
  sink.number("condition", factor.condition());
  if (factor.floor > 0 && made.fallback.empty()) {
    sink.number("floor", factor.floor);
    sink.text("fallback", "floor");
  }
  if (!made.fallback.empty()) {
    sink.text("fallback", made.fallback);
  }
}

class Linear {
 public:
  Linear(const Gptq::Params& params, const ModuleSetting& setting, const NumberFormat* format,
         const ActivationSettings& activations, GptqGroup& group,
         const kit::LinearToQuantize& linear, kit::QuantizeSink& sink)
      : params_(params),
        setting_(setting),
        format_(format),
        activations_(activations),
        group_(group),
        linear_(linear),
        sink_(sink) {}

  void quantize() {
    const c10::InferenceMode inference;
    const at::Tensor weight = weight_on(linear_, group_.device());
    if (setting_.skip) {
      keep_float(weight, linear_, sink_);
      return;
    }
    if (weight.size(1) != group_.columns()) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "weight: wanted %lld input columns, got %lld",
                static_cast<long long>(group_.columns()), static_cast<long long>(weight.size(1)));
    }
    if (is_embedding(linear_.info)) {
      const GptqGroup::Made plain{{}, no_compensation(weight.size(1)), ""};
      sink_.text("method", "rtn: an embedding has no inputs");
      round(weight, plain);
      round_inputs(activations_, linear_, group_, weight, sink_);
      return;
    }
    double seconds = 0;
    const GptqGroup::Made& made = group_.factor_for(request(), seconds);
    sink_.number("seconds.factor", seconds);
    round(weight, made);
    report_health(made, group_.gram().rows(), sink_);
    round_inputs(activations_, linear_, group_, weight, sink_);
  }

 private:
  FactorRequest request() const {
    const bool by_group = params_.act_group_aware && setting_.group_size != -1;
    const ColumnOrder order = params_.desc_act ? ColumnOrder::kActivation
                              : by_group       ? ColumnOrder::kGroupAware
                                               : ColumnOrder::kGiven;
    return {{order, params_.damp, params_.damp_increment, by_group ? setting_.group_size : -1,
             params_.damp_retry == "cumulative", params_.fallback == "floor"},
            params_.gptaq ? params_.gptaq_alpha : 0,
            params_.fallback == "rtn"};
  }

  void round(const at::Tensor& weight, const GptqGroup::Made& made) {
    const auto start = std::chrono::steady_clock::now();
    SolverOptions options{setting_.kind,
                          setting_.group_size,
                          params_.static_groups,
                          params_.scale_from == "stale",
                          params_.block,
                          params_.precision == "float64" || weight.scalar_type() == at::kDouble};
    options.group_aware = params_.act_group_aware;
    const double loss = format_ != nullptr ? round_to_format(weight, made.factor, options)
                                           : round_to_grid(weight, made, options);
    sink_.number("loss", loss);
    sink_.number("seconds.columns",
                 std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }

  double round_to_grid(const at::Tensor& weight, const GptqGroup::Made& made,
                       const SolverOptions& options) {
    const Groups groups = groups_of(weight.size(1), setting_.group_size);
    Coded coded{weight.size(0), weight.size(1), groups.count, {}, {}, {}, {}};
    double loss = 0;
    if (stays_on_device(linear_)) {
      loss = solve_into(weight, made.factor, options, kit::borrow(linear_.dequantized),
                        linear_.info.name);
    } else {
      coded = make_coded(sink_, coded.rows, coded.columns, coded.groups);
      loss = solve(weight, made.factor, options, coded);
      dequantize(coded, linear_.dequantized, linear_.info.name);
      const auto perm = sink_.tensor<int32_t>("perm", {weight.size(1)});
      std::copy(made.factor.perm.begin(), made.factor.perm.end(), perm.begin());
    }
    const bool ordered = params_.desc_act && !params_.static_groups && groups.count > 1;
    sink_.number("bits", static_cast<double>(setting_.kind.bits));
    sink_.number("bits_per_weight", bits_per_weight(coded, setting_.kind, ordered));
    return loss;
  }

  double round_to_format(const at::Tensor& weight, const Factor& factor, SolverOptions options) {
    const Groups groups =
        format_groups(*format_, weight.size(1), setting_.group_size, linear_.info.name);
    options.format = format_;
    options.tensor_scale = tensor_scale_of(*format_, weight);
    if (!matrix::on_host(weight) && finds_scales_by_kernel(*format_, scale_rule_of(options.kind))) {
      const SolvedThere made = solve_to_format_there(weight, factor, options);
      put_formatted(*format_, options.tensor_scale, groups, made.coded, linear_, sink_);
      return made.loss;
    }
    Factor here = factor;
    here.upper = factor.upper.cpu();
    here.correction = factor.correction.defined() ? factor.correction.cpu() : factor.correction;
    const CodedStorage made(weight.size(0), weight.size(1), groups);
    const double loss = solve(weight.cpu(), here, options, made.view());
    put_formatted(*format_, options.tensor_scale, groups, made.view(), linear_, sink_);
    return loss;
  }

  const Gptq::Params& params_;
  const ModuleSetting& setting_;
  const NumberFormat* format_;  // null: the integer grid
  const ActivationSettings& activations_;
  GptqGroup& group_;
  const kit::LinearToQuantize& linear_;
  kit::QuantizeSink& sink_;
};

constexpr const char* kPresets = R"({
  "study": {"desc_act": true, "damp": 0.01, "damp_increment": 0.0025, "damp_retry": "cumulative",
            "scale_from": "stale"},
  "study_damp05": {"desc_act": true, "damp": 0.05, "damp_increment": 0.01,
                   "damp_retry": "cumulative", "scale_from": "stale"},
  "modern": {"act_group_aware": true, "damp": 0.05, "damp_increment": 0.01, "scale_from": "stale"}
})";

}  // namespace

void Gptq::Params::describe(kit::Fields<Params>& fields) {
  fields
      .add("preset", &Params::preset,
           "whose defaults to use: those of the study's published tool (2025, "
           "with its later damping as study_damp05), or of its later versions (modern)")
      .choices("none|study|study_damp05|modern");
  kit::add_bits(fields, "wbits");
  kit::add_group_size(fields, "groupsize");
  kit::add_sym(fields);
  kit::add_mse(fields);
  add_format(fields);
  fields.add("desc_act", &Params::desc_act,
             "whether to quantize columns by descending diagonal of the Hessian (act-order)");
  fields.add(
      "act_group_aware", &Params::act_group_aware,
      "whether to order groups by their largest diagonal and columns within each group, so that "
      "no order needs to be stored (GAR)");
  fields.add("static_groups", &Params::static_groups,
             "whether scales come from the weight before the loop, with groups in column order");
  fields
      .add("damp", &Params::damp,
           "value added to the Hessian's diagonal, relative to its mean (percdamp, damp_percent)")
      .range(0, 1);
  fields
      .add("damp_increment", &Params::damp_increment,
           "increment of damp per retry while damp is below 1 (damp_auto_increment); 0: no retry")
      .range(0, 1);
  fields
      .add("damp_retry", &Params::damp_retry,
           "whether a retry damps the original Hessian (fresh) or the already damped one "
           "(cumulative, like published tools of 2025)")
      .choices("fresh|cumulative");
  fields
      .add(
          "fallback", &Params::fallback,
          "if no damping below 1 makes the Hessian positive definite: fail, raise a floor under "
          "its diagonal (1e-6 to 0.1 of the largest), or round to nearest, which also applies to a "
          "group that no row reaches. The record names the fallback")
      .choices("fail|floor|rtn");
  kit::add_inputs(fields, "sequential|block|float", "sequential: true_sequential");
  fields.add("gptaq", &Params::gptaq,
             "also correct for the shift of the inputs by quantization, relative to the float "
             "model's, at the cost of one more forward (GPTAQ, GPTQ v2)");
  fields.add("gptaq_alpha", &Params::gptaq_alpha, "share of the gptaq correction to apply (alpha)")
      .range(0, 1);
  fields
      .add("block", &Params::block,
           "columns whose updates to later columns are applied together (blocksize)")
      .range(1, 1024);
  fields
      .add("scale_from", &Params::scale_from,
           "whether a group's scale uses the weight after all updates so far (current), or at the "
           "start of the block (stale, like the first published code)")
      .choices("current|stale");
  fields
      .add("precision", &Params::precision,
           "precision of updates beyond the block, and of the Gram matrix's products if "
           "inputs are wider than 1024")
      .choices("float32|float64");
  kit::add_modules(fields);
  fields.add("lm_head", &Params::lm_head,
             "also quantize the output head, with its own inputs, unless it is tied");
  fields.add("embedding", &Params::embedding, "also round the token embedding to nearest");
  add_activations(fields);
  add_rotation(fields);
  add_cache(fields);
}

Gptq::Gptq(const Params& params)
    : params_(params),
      rules_(params.modules),
      activations_(activation_settings(params)),
      cache_(cache_settings(params)),
      format_(chosen_format("gptq", params)) {
  const bool whole_rows = params.group_size == -1;
  kit::check_group_size("gptq", params.group_size);
  kit::expects(!params.static_groups || !whole_rows,
               "gptq: static_groups has no effect with group_size = -1");
  kit::expects(!params.act_group_aware || !whole_rows,
               "gptq: act_group_aware has no effect with group_size = -1");
  kit::expects(!params.act_group_aware || !params.desc_act,
               "gptq: desc_act and act_group_aware both set an order; wanted one");
  kit::expects(format_ == nullptr || !params.desc_act || params.static_groups || whole_rows,
               "gptq: desc_act with a format also wants static_groups: a block is of neighbouring "
               "columns");
  kit::expects(!params.gptaq || params.inputs != "float",
               "gptq: gptaq has no effect with inputs = float");
  kit::expects(
      !activations_.rounds() || params.inputs != "float",
      "gptq: rounded activations reach later linears; wanted inputs = sequential or block");
  check_activations("gptq", activations_, params);
  check_cache("gptq", cache_, params, params.inputs == "float");
  if (params.preset == "none") {  // a preset may set what other parameters leave without effect
    kit::expects(!params.static_groups || params.scale_from != "stale",
                 "gptq: scale_from = stale has no effect with static_groups");
    kit::expects(!whole_rows || params.scale_from != "stale",
                 "gptq: scale_from = stale has no effect with group_size = -1");
  }
}

uint32_t Gptq::needs() const {
  uint32_t needs = QUENCH_NEEDS_ROWS | QUENCH_TAKES_DEVICE_WEIGHTS;
  needs |= params_.inputs == "sequential" ? QUENCH_NEEDS_SEQUENTIAL
           : params_.inputs == "block"    ? QUENCH_NEEDS_BLOCK_ROWS
                                          : QUENCH_NEEDS_FLOAT_ROWS;
  needs |= params_.gptaq ? QUENCH_NEEDS_FLOAT_STREAM : 0;
  needs |= params_.lm_head ? QUENCH_QUANTIZES_HEAD : 0;
  needs |= params_.embedding ? QUENCH_QUANTIZES_EMBEDDING : 0;
  return needs | activations_.needs() | cache_.needs();
}

std::unique_ptr<kit::QuantizerGroup> Gptq::begin(const quench_group_args& group) {
  auto made = std::make_unique<GptqGroup>(group.in_features, params_.precision == "float64",
                                          params_.gptaq, kit::torch_device(group.device));
  observe_inputs(*made, group.in_features, activations_);
  return made;
}

void Gptq::quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                    kit::QuantizeSink& sink) {
  round_cache(cache_, linear, sink);
  const ModuleSetting setting =
      rules_.setting_of(linear.info.name, {{params_.bits, params_.sym, params_.mse},
                                           group_size_with(format_, params_.group_size),
                                           false});
  name_errors(linear.info.name, [&] {
    Linear(params_, setting, format_, activations_, static_cast<GptqGroup&>(group), linear, sink)
        .quantize();
  });
}

bool Gptq::accepts_groups_of(const kit::Quantizer& other) const {
  const Params& theirs = static_cast<const Gptq&>(other).params_;
  return theirs.inputs == params_.inputs && theirs.precision == params_.precision &&
         theirs.gptaq == params_.gptaq &&
         static_cast<const Gptq&>(other).activations_ == activations_;
}

// The factor (and two more of its size while GPTAQ's correction is computed), and per linear the
// transposed weight and codes, which the sink gets in the order of rows; of a format scales and
// zeros too, in both orders, which a block of 16 does not leave small.
kit::GroupMemory Gptq::memory(const kit::GroupShapes& shapes) const {
  const bool float64 = params_.precision == "float64";
  const auto in = static_cast<uint64_t>(shapes.in_features);
  kit::GroupMemory out;
  out.observing = gram_bytes(shapes, float64);
  if (params_.gptaq) {
    out.observing += CrossGram::bytes(shapes.in_features, float64 || shapes.row_dtype.bits == 64);
  }
  out.shared = in * in * sizeof(double) * (params_.gptaq ? 3 : 1);
  const uint64_t element = float64 ? sizeof(double) : shapes.weight_dtype.bits / 8;
  out.linear = shapes.largest_weight() * (element + 2);
  if (format_ != nullptr) {
    const Groups groups =
        groups_of(shapes.in_features, group_size_with(format_, params_.group_size));
    out.linear +=
        shapes.largest_weight() / in * static_cast<uint64_t>(groups.count) * 4 * sizeof(double);
  }
  add_memory(out, shapes, activations_);
  return out;
}

void Gptq::add_functions(quench_quantizer_table& table) {
  add_gram_functions(table);
}

}  // namespace quench::quantizers

QUENCH_MODULE("quench.gptq", "0.2.0",
              quench::quantizers::rotatable<quench::quantizers::Gptq>(
                  {.id = "gptq",
                   .version = "0.2.0",
                   .summary = "Rounds column by column and spreads each rounding error over the "
                              "columns that are still to come.",
                   .reference = "Frantar et al. 2023, GPTQ, arXiv 2210.17323, algorithm 1; gptaq: "
                                "Li et al. 2025, GPTAQ, arXiv 2504.02692",
                   .example = "{bits: 4, group_size: 128}",
                   .presets_json = quench::quantizers::kPresets}))
