// What all schemes of weighted sums share: how chunks are summed, and their sums handed out.
#pragma once

#include "averaging/shared/weighted_sum.hpp"
#include "quench/kit/averaging.hpp"

namespace quench::averaging {

// `Scheme`: kit::Averaging or kit::SearchingAveraging. What derives from this selects members, and
// begins `sum_` with their weights.
template <typename Scheme>
class WeightedAveraging : public Scheme, public kit::ResumableSums {
 public:
  void accumulate(uint64_t member, std::span<const double> values) final {
    sum_.accumulate(member, values);
  }
  void finish(std::span<double> values) final { sum_.finish(values); }
  std::span<const double> sums() const final { return sum_.sums(); }
  void resume(uint64_t members, uint64_t chunk, std::span<const double> sums) final {
    sum_.resume(members, chunk, sums);
  }

 protected:
  WeightedSum sum_;
};

}  // namespace quench::averaging
