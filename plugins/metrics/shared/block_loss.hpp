// The cross entropy of a text that is cut into blocks of equal length.
#pragma once

#include <cstdint>
#include <vector>

#include "quench/kit/metric.hpp"

namespace quench::metrics {

// The ids of all documents, joined and cut into blocks of `block` ids; a last one that is not full
// is dropped.
struct TextBlocks {
  const int32_t* ids = nullptr;
  uint64_t blocks = 0;
  uint64_t block = 0;
};

// Throws FAILED_PRECONDITION for a corpus of less than one block.
TextBlocks text_blocks(const quench_tokens& tokens, uint64_t block);

// −log p in nats of every id of the blocks given the ids of its block before it, in one forward;
// 0 for the first of each. Throws NUMERICAL for one that is not finite.
std::vector<double> scored_nll(const kit::Evaluation& evaluation, const TextBlocks& text);

// The mean of each block's scored positions, all but its first.
std::vector<double> block_means(const std::vector<double>& nll, uint64_t block);

// All blocks score equally many positions, so the mean of their means is the mean over positions.
double mean_of(const std::vector<double>& values);

// Standard error of the mean; NaN for a single value.
double standard_error_of(const std::vector<double>& values, double mean);

}  // namespace quench::metrics
