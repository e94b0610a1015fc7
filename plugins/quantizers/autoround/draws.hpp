// Which batches an iteration sees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench::quantizers {

// Batches in random order, without repetition; when too few are left for an iteration, those are
// left out and all are shuffled again, as in the published code.
class Draws {
 public:
  // `tokens` of each batch. An iteration gets batches until it has `wanted` tokens, and all of them
  // in order if there are no more than that. The order is that of the random stream `stream`.
  Draws(std::vector<int64_t> tokens, int64_t wanted, std::string stream);

  std::vector<uint64_t> next();
  // Whether every iteration gets all batches.
  bool all() const { return all_; }

 private:
  void shuffle();
  // How many batches from `at_` on make up an iteration; 0 if too few are left.
  size_t count_from_here() const;

  std::vector<int64_t> tokens_;
  int64_t wanted_;
  std::string stream_;
  bool all_;
  std::vector<uint64_t> order_;
  size_t at_ = 0;
  uint64_t drawn_ = 0;  // numbers of the stream
};

}  // namespace quench::quantizers
