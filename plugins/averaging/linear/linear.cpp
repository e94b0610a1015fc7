// linear: a weighted sum of a fixed number of checkpoints.
//
// | parameter | type        | default  | range | meaning                               |
// |-----------|-------------|----------|-------|---------------------------------------|
// | weights   | number list | required |       | one per member, in the members' order |
// | normalize | bool        | true     |       | divide by the sum of the weights      |
//
//   averaging:
//     - linear: {weights: [0.9, 0.1]}
//       of: [sft@last, base@last]
//
// Σ wᵢ θᵢ / Σ wᵢ, or Σ wᵢ θᵢ without `normalize`. Weights may be negative (task arithmetic: Ilharco
// et al., "Editing Models with Task Arithmetic", ICLR 2023). Without a list of members, a
// checkpoint of a branch is averaged with the preceding checkpoints, whose weights come first.
#include <cmath>
#include <numeric>

#include "averaging/shared/spacing.hpp"
#include "averaging/shared/weighted_averaging.hpp"

namespace kit = quench::kit;

namespace {

class Linear final : public quench::averaging::WeightedAveraging<kit::Averaging> {
 public:
  struct Params {
    std::vector<double> weights;
    bool normalize = true;
    static void describe(kit::Fields<Params>& f) {
      f.add("weights", &Params::weights, "one weight per member, in the members' order").required();
      f.add("normalize", &Params::normalize, "whether to divide by the sum of the weights");
    }
  };
  explicit Linear(const Params& params) : params_(params) {
    const auto is_finite = [](double weight) { return std::isfinite(weight); };
    kit::expects(!params_.weights.empty(), "weights: got none, wanted one per member");
    kit::expects(std::all_of(params_.weights.begin(), params_.weights.end(), is_finite),
                 "weights: wanted finite numbers");
    if (params_.normalize) {
      divisor_ = std::accumulate(params_.weights.begin(), params_.weights.end(), 0.0);
      kit::expects(divisor_ != 0 && std::isfinite(divisor_),
                   "weights: their sum is 0 or not finite; wanted another, or normalize: false");
    }
  }

  std::vector<uint64_t> select(std::span<const quench_averaging_member> members,
                               uint64_t last) override {
    return quench::averaging::spaced_members(members, last, params_.weights.size(), 0);
  }
  void begin(std::span<const quench_averaging_member> members) override {
    if (members.size() != params_.weights.size()) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "weights: got %zu, wanted one for each of %zu members",
                params_.weights.size(), members.size());
    }
    sum_.begin(params_.weights, divisor_);
  }

 private:
  Params params_;
  double divisor_ = 1;
};

}  // namespace

QUENCH_MODULE("quench.linear", "0.1.0",
              kit::averaging<Linear>(
                  {.id = "linear",
                   .version = "0.1.0",
                   .summary = "A weighted sum of a fixed number of checkpoints.",
                   .reference = "Wortsman et al. 2022 (arXiv 2203.05482), Ilharco et al. 2023 "
                                "(arXiv 2212.04089)",
                   .example = "{weights: [0.9, 0.1]}"}))
