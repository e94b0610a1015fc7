// Random orthogonal matrices that mix all channels. If n is a power of two, applying one takes n
// log n operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench::transforms {

// R = H D H / n, where H is the Hadamard matrix of size n and D has random signs. If n = m 2^k with
// odd m, H is that of 2^k on each of m runs of channels, and D is a random orthogonal matrix of
// size m for each place within a run. With `keeps_mean`, D keeps its first input, the mean of all
// channels: R then maps (1,...,1) to itself.
class Orthogonal {
 public:
  // `stream` names the stream of random numbers.
  Orthogonal(int64_t size, bool keeps_mean, const std::string& stream);

  int64_t size() const { return size_; }
  // Replaces the row vector values [size] by values R.
  void apply(double* values) const;

 private:
  void hadamard(double* values) const;

  int64_t size_;
  int64_t odd_;  // m
  int64_t run_;  // 2^k
  // [run_][m, m]: the matrix for the m values at the same place of each run.
  std::vector<double> mixes_;
};

}  // namespace quench::transforms
