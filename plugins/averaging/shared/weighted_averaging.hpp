// The common part of schemes that are weighted sums: summing chunks, and handing out the sums.
#pragma once

#include "averaging/shared/weighted_sum.hpp"
#include "quench/kit/averaging.hpp"

namespace quench::averaging {

// `Scheme` is kit::Averaging or kit::SearchingAveraging. A derived class selects members and starts
// `sum_` with their weights.
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
