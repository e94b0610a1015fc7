// The weighted mean of the members of a chunk, in float64 and in the order of the members.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quench::averaging {

// (Σ wᵢ xᵢ) / divisor. Every product and every sum is rounded on its own, so a value depends on
// nothing but the members' values and the weights: not on its place in the chunk, nor the machine.
class WeightedSum {
 public:
  // Σ xᵢ / count.
  void begin_mean(uint64_t count);
  void begin(std::vector<double> weights, double divisor);
  // Members in ascending order; the first one starts a chunk. Throws kit::Error for another order,
  // a member that was not announced, or another length than the chunk's first.
  void accumulate(uint64_t member, std::span<const double> values);
  // Throws kit::Error when members are missing.
  void finish(std::span<double> values);

  // Σ wᵢ xᵢ of the members so far. Throws kit::Error(FAILED_PRECONDITION) where there are none.
  std::span<const double> sums() const;
  // The chunk as it was with these sums, after `members`. Throws kit::Error for what sums() cannot
  // have been.
  void resume(uint64_t members, uint64_t chunk, std::span<const double> sums);

 private:
  std::vector<double> weights_;
  double divisor_ = 1;
  uint64_t added_ = 0;  // members of this chunk so far
  std::vector<double> sum_;
};

}  // namespace quench::averaging
