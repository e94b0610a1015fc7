// lawa: the mean of the latest checkpoints of a branch (latest weight averaging).
//
// | parameter | type | default | range | meaning                                            |
// |-----------|------|---------|-------|----------------------------------------------------|
// | window    | int  | 5       | >= 1  | number of checkpoints in an average                |
// | every     | int  | 0       | >= 0  | steps between the checkpoints; 0: consecutive ones |
//
//   averaging:
//     - lawa: {window: 5, every: 500}
//
// θ̄_t = (1/k) Σ_{i<k} θ_{t−i·s}. Kaddour, "Stop Wasting My Time! Saving Days of ImageNet and BERT
// Training with Latest Weight Averaging", 2022; Sanyal et al., "Early Weight Averaging meets High
// Learning Rates for LLM Pre-training", 2023. With `every`, a checkpoint has an average only if all
// k checkpoints exist at exactly this spacing.
#include "averaging/shared/spacing.hpp"
#include "averaging/shared/weighted_averaging.hpp"

namespace kit = quench::kit;

namespace {

class Lawa final : public quench::averaging::WeightedAveraging<kit::Averaging> {
 public:
  struct Params {
    int64_t window = 5;
    int64_t every = 0;
    static void describe(kit::Fields<Params>& f) {
      f.add("window", &Params::window, "number of checkpoints in an average").range(1, 100000);
      f.add("every", &Params::every, "steps between the checkpoints; 0: consecutive ones")
          .at_least(0);
    }
  };
  explicit Lawa(const Params& params) : params_(params) {}

  uint32_t needs() const override { return QUENCH_AVERAGING_ANY_ORDER; }

  std::vector<uint64_t> select(std::span<const quench_averaging_member> members,
                               uint64_t last) override {
    return quench::averaging::spaced_members(members, last, static_cast<uint64_t>(params_.window),
                                             params_.every);
  }
  void begin(std::span<const quench_averaging_member> members) override {
    sum_.begin_mean(members.size());
  }

 private:
  Params params_;
};

}  // namespace

QUENCH_MODULE(
    "quench.lawa", "0.1.0",
    kit::averaging<Lawa>({.id = "lawa",
                          .version = "0.1.0",
                          .summary = "The mean of the latest checkpoints of a branch.",
                          .reference = "Kaddour 2022 (arXiv 2209.14981), Sanyal et al. 2023 (arXiv "
                                       "2306.03241)",
                          .example = "{window: 5, every: 500}"}))
