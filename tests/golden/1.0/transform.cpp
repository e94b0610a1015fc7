// golden_transform: brings the columns of a group's weights nearer to one another, and puts the
// inverse into the weights before it.
//
// | parameter | type   | default | range  | meaning                                            |
// |-----------|--------|---------|--------|----------------------------------------------------|
// | strength  | number | 0.5     | 0 .. 1 | 0: nothing changes, 1: every column is as large    |
//
//   quantizers:
//     - rtn: {bits: 4}
//       transform: {golden_transform: {strength: 0.5}}
//
// scale_c = (mean of max|w| / max|w_c|)^strength multiplies column c of the group's weights, and
// divides what makes that channel. A group whose input nothing can absorb stays as it is.
#include <algorithm>
#include <cmath>

#include "quench/kit/transform.hpp"

namespace kit = quench::kit;
namespace {

class GoldenTransform final : public kit::Transform {
 public:
  struct Params {
    double strength = 0.5;
    static void describe(kit::Fields<Params>& f) {
      f.add("strength", &Params::strength, "0: nothing changes, 1: every column is as large")
          .range(0, 1);
    }
  };
  explicit GoldenTransform(const Params& params) : strength_(params.strength) {}

  void apply(kit::ModelEditor& model) override {
    for (uint32_t b = 0; b < model.info().blocks; ++b) {
      for (uint32_t g = 0; g < model.block(b).group_count; ++g) {
        const quench_group_info& group = model.block(b).groups[g];
        if (group.site_count == 0) {
          model.change(group.linears[0].name, "skipped: nothing can absorb a scale");
          continue;
        }
        const std::vector<double> scale = scale_of(model, group);
        model.change(group.linears[0].name, "folded");
        model.fold(group, scale);
      }
    }
  }

 private:
  std::vector<double> scale_of(const kit::ModelEditor& model,
                               const quench_group_info& group) const {
    const auto columns = static_cast<size_t>(group.linears[0].in_features);
    std::vector<double> scale(columns, 0.0);  // the columns' largest magnitudes first
    for (uint32_t l = 0; l < group.linear_count; ++l) {
      const kit::OwnedTensor<double> weight = model.get(group.linears[l].weight);
      for (size_t i = 0; i < weight.values().size(); ++i) {
        scale[i % columns] = std::max(scale[i % columns], std::fabs(weight.values()[i]));
      }
    }
    double mean = 0;
    for (const double largest : scale) {
      mean += largest / static_cast<double>(columns);
    }
    for (double& s : scale) {
      s = s > 0 ? std::pow(mean / s, strength_) : 1;
    }
    return scale;
  }

  double strength_;
};

}  // namespace

QUENCH_MODULE("golden_transform", "0.1.0",
              kit::transform<GoldenTransform>(
                  {.id = "golden_transform",
                   .version = "0.1.0",
                   .summary = "Brings the columns of weights nearer to one another.",
                   .example = "{strength: 0.5}"}))
