// across_activation: a transform that is wrong on purpose. Like published tools for families that
// they do not know, it takes what makes the input of each `down` to be linear in `up`, whatever
// stands between the two.
#include "quench/kit/transform.hpp"

namespace kit = quench::kit;

namespace {

class AcrossActivation final : public kit::Transform {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  explicit AcrossActivation(const Params&) {}

  void apply(kit::ModelEditor& model) override {
    for (uint32_t b = 0; b < model.info().blocks; ++b) {
      const quench_block_info& block = model.block(b);
      for (uint32_t g = 0; g < block.group_count; ++g) {
        const quench_group_info& group = block.groups[g];
        if (std::string(group.linears[0].role) != "down") {
          continue;
        }
        const quench_scale_site up{sizeof up, up_of(block), nullptr};
        quench_group_info folded = group;
        folded.site_count = 1;
        folded.sites = &up;
        model.change(group.linears[0].name, "folded");
        std::vector<double> scale(static_cast<size_t>(group.linears[0].in_features));
        for (size_t c = 0; c < scale.size(); ++c) {
          scale[c] = b < 1 ? 1 : 0.5 + static_cast<double>(c % 7) / 4;  // block 0 stays sound
        }
        model.fold(folded, scale);
      }
    }
  }

 private:
  static const char* up_of(const quench_block_info& block) {
    for (uint32_t g = 0; g < block.group_count; ++g) {
      for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
        if (std::string(block.groups[g].linears[l].role) == "up") {
          return block.groups[g].linears[l].weight;
        }
      }
    }
    throw kit::Error(QUENCH_UNSUPPORTED, "no linear has the role up");
  }
};

}  // namespace

QUENCH_MODULE("quench.test.across_activation", "0.1.0",
              kit::transform<AcrossActivation>(
                  {.id = "across_activation", .version = "0.1.0", .summary = "Wrong on purpose."}))
