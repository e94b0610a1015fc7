// rtn: scales and zeros from the extremes of each group of a row, codes by rounding, all in float64
// (grid/grid.hpp has the formulas), the result rounded once to the weight's dtype.
#include "quantizers/rtn/rtn.hpp"

#include "quantizers/gram/extension.hpp"
#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/grid.hpp"
#include "quantizers/grid/weight.hpp"
#include "quantizers/rtn/rows.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

class RtnGroup final : public GramGroup {
 public:
  RtnGroup(const Rtn::Params& params, int64_t in_features)
      : GramGroup(in_features, false), params_(params) {}

  void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
    const c10::InferenceMode inference;
    const at::Tensor weight = host_weight(linear);
    const GridKind kind{params_.bits, params_.sym};
    const Groups groups = groups_of(weight.size(1), params_.group_size);
    const Coded coded = make_coded(sink, weight.size(0), weight.size(1), groups.count);
    for (size_t c = 0; c < coded.g_idx.size(); ++c) {
      coded.g_idx[c] = static_cast<int32_t>(static_cast<int64_t>(c) / groups.size);
    }
    if (weight.scalar_type() == at::kDouble) {
      round_rows(weight.const_data_ptr<double>(), groups, kind, coded);
    } else {
      round_rows(weight.const_data_ptr<float>(), groups, kind, coded);
    }
    dequantize(coded, linear.dequantized, linear.info.name);
    sink.number("bits_per_weight", bits_per_weight(coded, kind, false));
  }

 private:
  Rtn::Params params_;
};

}  // namespace

void Rtn::Params::describe(kit::Fields<Params>& fields) {
  fields.add("bits", &Params::bits, "width of a code, in bits").range(2, 8);
  fields
      .add("group_size", &Params::group_size,
           "columns of a row that share a scale; -1: the whole row")
      .at_least(-1);
  fields.add("sym", &Params::sym, "grid symmetric around zero, so that no zero point is stored");
}

Rtn::Rtn(const Params& params) : params_(params) {
  kit::expects(params.group_size != 0, "rtn: group_size = 0, wanted -1 or at least 1");
}

std::unique_ptr<kit::QuantizerGroup> Rtn::begin(const quench_group_args& group) {
  return std::make_unique<RtnGroup>(params_, group.in_features);
}

const void* Rtn::extension(const char* id) const {
  return gram_extension(id);
}

}  // namespace quench::quantizers

QUENCH_MODULE("quench.rtn", "0.1.0",
              quench::kit::quantizer<quench::quantizers::Rtn>(
                  {.id = "rtn",
                   .version = "0.1.0",
                   .summary = "Rounds every weight to the nearest value of its group's grid.",
                   .example = "{bits: 4, group_size: 128}"}))
