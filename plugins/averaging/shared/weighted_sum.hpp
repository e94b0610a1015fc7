// The weighted mean of the members of a chunk, in float64, in the order of the members.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quench::averaging {

// (Σ wᵢ xᵢ) / divisor. Every product and every sum is rounded on its own, so a value depends only
// on the members' values and the weights, not on its place in the chunk or on the machine.
class WeightedSum {
 public:
  // Σ xᵢ / count.
  void begin_mean(uint64_t count);
  void begin(std::vector<double> weights, double divisor);
  // Takes members in ascending order; the first one starts a chunk. Throws kit::Error for another
  // order, an unknown member, or a length other than the chunk's.
  void accumulate(uint64_t member, std::span<const double> values);
  // Throws kit::Error if members are missing.
  void finish(std::span<double> values);

  // Σ wᵢ xᵢ over the members so far. Throws kit::Error(FAILED_PRECONDITION) if there are none.
  std::span<const double> sums() const;
  // Restores the chunk with these sums, after `members` members. Throws kit::Error for values that
  // sums() cannot have returned.
  void resume(uint64_t members, uint64_t chunk, std::span<const double> sums);

 private:
  std::vector<double> weights_;
  double divisor_ = 1;
  uint64_t added_ = 0;  // members of this chunk so far
  std::vector<double> sum_;
};

}  // namespace quench::averaging
