// greedy_soup: the mean of the members that lower the score, added one by one from the best.
//
//   averaging:
//     - greedy_soup: {}
//       of: [seed1@last, seed2@last, seed3@last]
//
// Wortsman et al., "Model soups: averaging weights of multiple fine-tuned models improves accuracy
// without increasing inference time", ICML 2022, recipe 1: members are tried in the order of their
// own scores; each stays in the mean if the mean then scores no worse. The host measures the
// scores; n members need 2n − 1 of them.
#include <cmath>
#include <numeric>

#include "averaging/shared/weighted_averaging.hpp"

namespace kit = quench::kit;

namespace {

class GreedySoup final : public quench::averaging::WeightedAveraging<kit::SearchingAveraging> {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  explicit GreedySoup(const Params&) {}

  uint32_t needs() const override { return QUENCH_AVERAGING_ANY_ORDER; }

  std::vector<uint64_t> select(std::span<const quench_averaging_member> members,
                               uint64_t last) override {
    if (last + 1 != members.size()) {
      kit::fail(QUENCH_FAILED_PRECONDITION,
                "%s: not the last checkpoint; a soup tries all checkpoints", members[last].name);
    }
    std::vector<uint64_t> all(members.size());
    std::iota(all.begin(), all.end(), uint64_t{0});
    return all;
  }

  std::vector<double> search(std::span<const quench_averaging_member> members,
                             const Score& score) override {
    const size_t count = members.size();
    std::vector<double> alone(count);
    for (size_t i = 0; i < count; ++i) {
      std::vector<double> weights(count, 0.0);
      weights[i] = 1;
      alone[i] = finite(score(weights), members[i].name);
    }
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return alone[a] < alone[b]; });
    std::vector<size_t> soup = {order[0]};
    double best = alone[order[0]];
    for (size_t i = 1; i < count; ++i) {
      soup.push_back(order[i]);
      const double value = finite(score(uniform(soup, count)), members[order[i]].name);
      if (value <= best) {
        best = value;
      } else {
        soup.pop_back();
      }
    }
    return uniform(soup, count);
  }

  void begin(std::span<const quench_averaging_member> members) override {
    sum_.begin_mean(members.size());
  }
  void begin_weighted(std::span<const quench_averaging_member> members,
                      std::span<const double> weights) override {
    kit::expects(std::all_of(weights.begin(), weights.end(),
                             [&](double weight) { return weight == weights[0]; }),
                 "weights: wanted equal weights for a soup");
    begin(members);
  }

 private:
  static double finite(double score, const char* name) {
    if (!std::isfinite(score)) {
      kit::fail(QUENCH_NUMERICAL, "%s: the score is %g", name, score);
    }
    return score;
  }
  static std::vector<double> uniform(const std::vector<size_t>& soup, size_t count) {
    std::vector<double> weights(count, 0.0);
    for (const size_t i : soup) {
      weights[i] = 1.0 / static_cast<double>(soup.size());
    }
    return weights;
  }
};

}  // namespace

QUENCH_MODULE(
    "quench.greedy_soup", "0.1.0",
    kit::averaging<GreedySoup>({.id = "greedy_soup",
                                .version = "0.1.0",
                                .summary = "The mean of the members that lower a score.",
                                .reference = "Wortsman et al. 2022 (arXiv 2203.05482), recipe 1",
                                .example = "{}"}))
