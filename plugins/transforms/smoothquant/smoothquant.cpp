// smoothquant: moves the magnitude of outlier channels from a group's inputs into its weights,
//
//   s_c = max|x_c|^alpha / max|w_c|^(1 - alpha)      (Xiao et al. 2023, equation 4)
//
// dividing the inputs by s and multiplying the weights by it. s is folded into the preceding
// weights if they can absorb it; otherwise it divides the inputs at run time, or the group is
// skipped.
//
// | parameter  | type   | default  | range          | meaning                                     |
// |------------|--------|----------|----------------|---------------------------------------------|
// | alpha      | number | 0.5      | 0 .. 1         | share of the magnitude that goes to weights |
// | unfoldable | choice | explicit | explicit, skip | groups whose scale nothing can absorb       |
//
//   quantizers:
//     - int8: {threshold: 0}
//       calibration: c4
//       transform: {smoothquant: {alpha: 0.5}}
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "quench/kit/transform.hpp"
#include "transforms/smoothquant/device/magnitudes.hpp"

namespace quench::transforms {

namespace {

constexpr double kLeast = 1e-5;  // least magnitude of a channel in inputs and weights

class SmoothQuant final : public kit::Transform {
 public:
  struct Params {
    double alpha = 0.5;
    std::string unfoldable = "explicit";
    static void describe(kit::Fields<Params>& fields) {
      fields
          .add("alpha", &Params::alpha,
               "share of the inputs' magnitude that moves into the weights: 0 none, 1 all")
          .range(0, 1);
      fields
          .add("unfoldable", &Params::unfoldable,
               "if no preceding weight can absorb a group's scale: divide the group's inputs "
               "by it at run time (explicit), or leave the group as it is (skip)")
          .choices("explicit|skip");
    }
  };

  explicit SmoothQuant(const Params& params) : params_(params) {}
  uint32_t needs() const override { return QUENCH_TRANSFORM_NEEDS_ROWS; }
  void observe(const quench_group_args& group, const quench_observe_args& rows) override;
  void apply(kit::ModelEditor& model) override;

 private:
  void apply_to_group(kit::ModelEditor& model, uint32_t block, uint32_t group);
  std::vector<double> scale_of(const kit::ModelEditor& model, const quench_group_info& group,
                               const std::vector<double>& inputs) const;

  Params params_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<double>> inputs_;  // largest |x_c|
};

void SmoothQuant::observe(const quench_group_args& group, const quench_observe_args& rows) {
  std::vector<double>& largest = inputs_[{group.block, group.group}];
  largest.resize(static_cast<size_t>(group.in_features));
  if (on_device(*rows.x)) {
    const std::vector<double> found = largest_on_device(rows);
    std::transform(found.begin(), found.end(), largest.begin(), largest.begin(),
                   [](double a, double b) { return std::max(a, b); });
    return;
  }
  const std::vector<double> values = kit::to_doubles(*rows.x, "rows");
  const auto take = [&](size_t row) {
    for (size_t c = 0; c < largest.size(); ++c) {
      const double size = std::fabs(values[row * largest.size() + c]);
      if (!std::isfinite(size)) {
        kit::fail(QUENCH_NUMERICAL, "row %zu, column %zu is %g", row, c, size);
      }
      largest[c] = std::max(largest[c], size);
    }
  };
  if (rows.row_index != nullptr) {
    for (const int64_t row : kit::elements<int64_t>(*rows.row_index, "row_index")) {
      take(static_cast<size_t>(row));
    }
    return;
  }
  for (size_t row = 0; row < values.size() / largest.size(); ++row) {
    take(row);
  }
}

std::vector<double> SmoothQuant::scale_of(const kit::ModelEditor& model,
                                          const quench_group_info& group,
                                          const std::vector<double>& inputs) const {
  std::vector<double> weights(inputs.size());
  for (uint32_t l = 0; l < group.linear_count; ++l) {
    const auto value = model.get(group.linears[l].weight);
    for (size_t i = 0; i < value.values().size(); ++i) {
      double& largest = weights[i % weights.size()];
      largest = std::max(largest, std::fabs(value.values()[i]));
    }
  }
  std::vector<double> scale(inputs.size());
  for (size_t c = 0; c < scale.size(); ++c) {
    scale[c] = std::pow(std::max(inputs[c], kLeast), params_.alpha) /
               std::pow(std::max(weights[c], kLeast), 1 - params_.alpha);
  }
  return scale;
}

void SmoothQuant::apply_to_group(kit::ModelEditor& model, uint32_t block, uint32_t group) {
  const quench_group_info& info = model.block(block).groups[group];
  const char* name = info.linears[0].name;
  const auto inputs = inputs_.find({block, group});
  if (inputs == inputs_.end()) {
    model.change(name, "skipped: no calibration row reached it");
  } else if (info.site_count > 0) {
    model.change(name, "folded");
    model.fold(info, scale_of(model, info, inputs->second));
  } else if (params_.unfoldable == "explicit") {
    model.change(name, "explicit");
    model.divide_inputs(block, group, scale_of(model, info, inputs->second));
  } else {
    model.change(name, "skipped: no preceding weight can absorb it");
  }
}

void SmoothQuant::apply(kit::ModelEditor& model) {
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    for (uint32_t g = 0; g < model.block(b).group_count; ++g) {
      apply_to_group(model, b, g);
    }
  }
}

}  // namespace

}  // namespace quench::transforms

QUENCH_MODULE(
    "quench.smoothquant", "0.1.0",
    quench::kit::transform<quench::transforms::SmoothQuant>(
        {.id = "smoothquant",
         .version = "0.1.0",
         .summary = "Moves the magnitude of outlier channels from the inputs of linears into "
                    "their weights.",
         .reference = "Xiao et al. 2023, SmoothQuant, arXiv 2211.10438, equation 4",
         .example = "{alpha: 0.5}"}))
