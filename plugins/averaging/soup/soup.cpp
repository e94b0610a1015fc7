// soup: the mean of all members of a set (uniform model soup).
//
//   averaging:
//     - soup: {}
//       of: [seed1@last, seed2@last, seed3@last]
//
// Wortsman et al., "Model soups: averaging weights of multiple fine-tuned models improves accuracy
// without increasing inference time", ICML 2022. Without a list of members it averages all
// checkpoints of a branch, at the last one.
#include <numeric>

#include "averaging/shared/weighted_averaging.hpp"

namespace kit = quench::kit;

namespace {

class Soup final : public quench::averaging::WeightedAveraging<kit::Averaging> {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  explicit Soup(const Params&) {}

  uint32_t needs() const override { return QUENCH_AVERAGING_ANY_ORDER; }

  std::vector<uint64_t> select(std::span<const quench_averaging_member> members,
                               uint64_t last) override {
    if (last + 1 != members.size()) {
      kit::fail(QUENCH_FAILED_PRECONDITION,
                "%s: not the last checkpoint; a soup averages all checkpoints", members[last].name);
    }
    std::vector<uint64_t> all(members.size());
    std::iota(all.begin(), all.end(), uint64_t{0});
    return all;
  }
  void begin(std::span<const quench_averaging_member> members) override {
    sum_.begin_mean(members.size());
  }
};

}  // namespace

QUENCH_MODULE("quench.soup", "0.1.0",
              kit::averaging<Soup>({.id = "soup",
                                    .version = "0.1.0",
                                    .summary = "The mean of all members of a set.",
                                    .reference = "Wortsman et al. 2022 (arXiv 2203.05482)",
                                    .example = "{}"}))
