// gptq: parameters, checks, and the way from a group's Gram matrix to codes.
//
// The factorization is done once per group, in float64, and shared by its linears. The updates of
// the columns to come are float32, or float64 when asked for or when the weight is float64
// (solver.hpp says what that covers). Products of the Gram matrix: gram.hpp.
#include "quantizers/gptq/gptq.hpp"

#include <algorithm>
#include <optional>

#include "quantizers/gptq/factor.hpp"
#include "quantizers/gptq/solver.hpp"
#include "quantizers/gram/extension.hpp"
#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/weight.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

class GptqGroup final : public GramGroup {
 public:
  GptqGroup(const Gptq::Params& params, int64_t in_features)
      : GramGroup(in_features, params.precision == "float64"), params_(params) {}

  void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
    try {
      quantize_named(linear, sink);
    } catch (const kit::Error& error) {
      const std::string what = error.what();
      const std::string name = linear.info.name;
      if (error.code() == QUENCH_CANCELLED || what.starts_with(name)) {
        throw;
      }
      throw kit::Error(error.code(), name + ": " + what);
    }
  }

 private:
  void quantize_named(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) {
    const c10::InferenceMode inference;
    const at::Tensor weight = host_weight(linear);
    const Factor& factor = factor_for(weight);
    const GridKind kind{params_.bits, params_.sym};
    const Groups groups = groups_of(weight.size(1), params_.group_size);
    const Coded coded = make_coded(sink, weight.size(0), weight.size(1), groups.count);
    const double loss = solve(
        weight, factor,
        {kind, params_.group_size, params_.static_groups, params_.scale_from == "stale",
         params_.block, params_.precision == "float64" || weight.scalar_type() == at::kDouble},
        coded);
    dequantize(coded, linear.dequantized, linear.info.name);
    const auto perm = sink.tensor<int32_t>("perm", {weight.size(1)});
    std::copy(factor.perm.begin(), factor.perm.end(), perm.begin());
    const bool ordered = params_.desc_act && !params_.static_groups && groups.count > 1;
    sink.number("bits_per_weight", bits_per_weight(coded, kind, ordered));
    sink.number("loss", loss);
    sink.number("damp", factor.damp);
    sink.number("retries", static_cast<double>(factor.retries));
    sink.number("dead", static_cast<double>(factor.dead_count));
    sink.number("rows", gram().rows());
  }

  // The group's factor, made at the first linear.
  const Factor& factor_for(const at::Tensor& weight) {
    const at::Tensor& matrix = gram().matrix();
    if (matrix.size(0) != weight.size(1)) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "weight: wanted %lld input columns, got %lld",
                static_cast<long long>(matrix.size(0)), static_cast<long long>(weight.size(1)));
    }
    if (!factor_) {
      factor_ = factorize(matrix, gram().rows(),
                          {params_.desc_act, params_.damp, params_.damp_increment});
    }
    return *factor_;
  }

  Gptq::Params params_;
  std::optional<Factor> factor_;
};

}  // namespace

void Gptq::Params::describe(kit::Fields<Params>& fields) {
  fields.add("bits", &Params::bits, "width of a code, in bits (wbits)").range(2, 8);
  fields
      .add("group_size", &Params::group_size,
           "columns of a row that share a scale; -1: the whole row (groupsize)")
      .at_least(-1);
  fields.add("sym", &Params::sym, "grid symmetric around zero, so that no zero point is stored");
  fields.add("desc_act", &Params::desc_act,
             "columns in the order of descending diagonal of the Hessian (act-order)");
  fields.add("static_groups", &Params::static_groups,
             "scales of all groups from the weight before the loop, groups in column order");
  fields
      .add("damp", &Params::damp,
           "added to the Hessian's diagonal, relative to its mean (percdamp, damp_percent)")
      .range(0, 1);
  fields
      .add("damp_increment", &Params::damp_increment,
           "added to damp for each retry while it stays below 1 (damp_auto_increment); 0: no retry")
      .range(0, 1);
  fields
      .add("block", &Params::block,
           "columns whose updates to the rest are applied at once (blocksize)")
      .range(1, 1024);
  fields
      .add(
          "scale_from", &Params::scale_from,
          "a group's scale sees the weight with every update so far (current), or as it was at the "
          "start of the block (stale, as the first published code has it)")
      .choices("current|stale");
  fields
      .add("precision", &Params::precision,
           "of the updates to columns beyond the block, and of the Gram matrix's products where "
           "inputs are wider than 1024")
      .choices("float32|float64");
}

Gptq::Gptq(const Params& params) : params_(params) {
  kit::expects(params.group_size != 0, "gptq: group_size = 0, wanted -1 or at least 1");
  kit::expects(!params.static_groups || params.group_size != -1,
               "gptq: static_groups has no effect with group_size = -1");
  kit::expects(!params.static_groups || params.scale_from != "stale",
               "gptq: scale_from = stale has no effect with static_groups");
  kit::expects(params.group_size != -1 || params.scale_from != "stale",
               "gptq: scale_from = stale has no effect with group_size = -1");
}

std::unique_ptr<kit::QuantizerGroup> Gptq::begin(const quench_group_args& group) {
  return std::make_unique<GptqGroup>(params_, group.in_features);
}

const void* Gptq::extension(const char* id) const {
  return gram_extension(id);
}

}  // namespace quench::quantizers

QUENCH_MODULE("quench.gptq", "0.1.0",
              quench::kit::quantizer<quench::quantizers::Gptq>(
                  {.id = "gptq",
                   .version = "0.1.0",
                   .summary = "Rounds column by column and spreads each rounding error over the "
                              "columns that are still to come.",
                   .reference = "Frantar et al. 2023, GPTQ, arXiv 2210.17323, algorithm 1",
                   .example = "{bits: 4, group_size: 128}"}))
