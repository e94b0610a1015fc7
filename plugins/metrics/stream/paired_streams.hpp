// A text that runs through the float and the quantized model side by side, layer by layer, as one
// model whose weights are swapped.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "metrics/shared/weight_swap.hpp"
#include "metrics/stream/residual_stream.hpp"

namespace quench::metrics {

// Rows first .. first+count-1 of the text, run through both models.
struct StreamPair {
  int64_t first;
  int64_t count;
  ResidualStream floating;
  ResidualStream quantized;
};

class PairedStreams {
 public:
  // `ids` [blocks, block], borrowed as the subject and the swap are. Throws the model's errors.
  PairedStreams(const quench_subject& subject, WeightSwap& swap, const int32_t* ids, int64_t blocks,
                int64_t block);

  const quench_model_info& info() const { return info_; }
  // Calls `work` with the pairs of some rows at a time: in batches of 2048 ids, as many as fit in
  // 256 MB of `streams` residual streams.
  void each_chunk(int64_t streams, const std::function<void(std::vector<StreamPair>&)>& work);
  // Runs `step` on every stream, each with its own weights of `block`.
  void both(int64_t block, std::vector<StreamPair>& pairs,
            const std::function<void(ResidualStream&)>& step);

 private:
  std::vector<StreamPair> pairs_of(int64_t first, int64_t count) const;

  const quench_subject& subject_;
  WeightSwap& swap_;
  const int32_t* ids_;
  int64_t blocks_;
  int64_t block_;
  quench_model_info info_{};
};

// All elements, copied to the host as float64.
std::vector<double> doubles_of(const Buffer& buffer);

}  // namespace quench::metrics
