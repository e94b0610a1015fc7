// planted_outliers: makes one input channel of every group 16 times larger and its weights 16 times
// smaller, wherever preceding weights absorb that. The model computes the same; its
// inputs have the outlying channels of larger models.
#include "quench/kit/transform.hpp"

namespace kit = quench::kit;

namespace {

constexpr double kFactor = 16;

class PlantedOutliers final : public kit::Transform {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  explicit PlantedOutliers(const Params&) {}

  void apply(kit::ModelEditor& model) override {
    for (uint32_t b = 0; b < model.info().blocks; ++b) {
      const quench_block_info& block = model.block(b);
      for (uint32_t g = 0; g < block.group_count; ++g) {
        const quench_group_info& group = block.groups[g];
        if (group.site_count == 0) {
          continue;
        }
        std::vector<double> scale(static_cast<size_t>(group.linears[0].in_features), 1.0);
        scale[(7 * b + 3 * g + 5) % scale.size()] = 1 / kFactor;
        model.change(group.linears[0].name, "folded");
        model.fold(group, scale);
      }
    }
  }
};

}  // namespace

QUENCH_MODULE("quench.test.planted_outliers", "0.1.0",
              kit::transform<PlantedOutliers>({.id = "planted_outliers",
                                               .version = "0.1.0",
                                               .summary = "Makes some channels 16 times larger."}))
