// ema: the exponential moving average of a branch's checkpoints.
//
// | parameter | type   | default | range  | meaning                                      |
// |-----------|--------|---------|--------|----------------------------------------------|
// | decay     | number | 0.9     | [0, 1) | share of the average kept per snapshot       |
// | stride    | int    | 0       | >= 0   | steps between snapshots; 0: every checkpoint |
//
//   averaging:
//     - ema: {decay: 0.9, stride: 500}
//
// m_t = β m_{t−1} + (1 − β) θ_t from m_0 = 0, and θ̄_t = m_t / (1 − βᵗ), which corrects the start
// at zero (Kingma and Ba, "Adam", ICLR 2015, section 3). β applies per snapshot, not per optimizer
// step: an average with decay d per step has β = d^stride. With `stride`, the snapshots are the
// checkpoints whose step differs from the last one's by a multiple of it, back to the first
// checkpoint of the branch. A missing snapshot is an error.
#include <cmath>

#include "averaging/shared/spacing.hpp"
#include "averaging/shared/weighted_averaging.hpp"

namespace kit = quench::kit;

namespace {

class Ema final : public quench::averaging::WeightedAveraging<kit::Averaging> {
 public:
  struct Params {
    double decay = 0.9;
    int64_t stride = 0;
    static void describe(kit::Fields<Params>& f) {
      f.add("decay", &Params::decay, "share of the average kept per snapshot").range(0, 1);
      f.add("stride", &Params::stride, "steps between snapshots; 0: every checkpoint").at_least(0);
    }
  };
  explicit Ema(const Params& params) : params_(params) {
    kit::expects(params_.decay < 1, "decay: got 1, wanted less");
  }

  std::vector<uint64_t> select(std::span<const quench_averaging_member> members,
                               uint64_t last) override {
    if (params_.stride == 0) {
      return quench::averaging::spaced_members(members, last, last + 1, 0);
    }
    const int64_t reach = members[last].step - members[0].step;
    const uint64_t count =
        members[0].step < 0 || reach < 0 ? 1 : static_cast<uint64_t>(reach / params_.stride) + 1;
    if (count > last + 1) {
      kit::fail(QUENCH_FAILED_PRECONDITION,
                "%s: got %llu checkpoints up to here, wanted %llu %lld steps apart",
                members[last].name, static_cast<unsigned long long>(last + 1),
                static_cast<unsigned long long>(count), static_cast<long long>(params_.stride));
    }
    return quench::averaging::spaced_members(members, last, count, params_.stride);
  }

  // Snapshot i of n has weight βⁿ⁻¹⁻ⁱ. The factor (1 − β) cancels against the correction, because 1
  // − βⁿ = (1 − β) Σ βⁱ.
  void begin(std::span<const quench_averaging_member> members) override {
    std::vector<double> weights(members.size());
    double divisor = 0;
    double weight = 1;
    for (size_t i = members.size(); i-- > 0; weight *= params_.decay) {
      weights[i] = weight;
      divisor += weight;
    }
    sum_.begin(std::move(weights), divisor);
  }

 private:
  Params params_;
};

}  // namespace

QUENCH_MODULE(
    "quench.ema", "0.1.0",
    kit::averaging<Ema>({.id = "ema",
                         .version = "0.1.0",
                         .summary = "The bias-corrected exponential moving average of a branch.",
                         .reference = "Kingma and Ba 2015 (arXiv 1412.6980), section 3",
                         .example = "{decay: 0.9, stride: 500}"}))
