// Random orthogonal matrices that mix all channels and cost n log n to apply where n is a power of
// two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench::transforms {

// R = H D H / n with H the Hadamard matrix of size n and D random signs; where n = m 2^k with odd
// m, H is that of 2^k on each of m runs of channels, and D a random orthogonal matrix of size m for
// each place within a run. The first row of what D acts on, the mean of all channels, is left as it
// is where `keeps_mean` is set: R then maps (1,...,1) to itself.
class Orthogonal {
 public:
  // `stream` names the random numbers.
  Orthogonal(int64_t size, bool keeps_mean, const std::string& stream);

  int64_t size() const { return size_; }
  // values [size] become values R (as a row).
  void apply(double* values) const;

 private:
  void hadamard(double* values) const;

  int64_t size_;
  int64_t odd_;  // m
  int64_t run_;  // 2^k
  // [run_][m, m]: what is done to the m values that stand at the same place of each run.
  std::vector<double> mixes_;
};

}  // namespace quench::transforms
