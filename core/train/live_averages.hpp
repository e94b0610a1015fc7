// Averages of weights that pass by and are written nowhere: the same plugins, in the same order of
// sums, as averages of checkpoints, so the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/plugin/averaging_handle.hpp"
#include "core/train/recipe.hpp"

namespace quench {

class LiveAverages {
 public:
  // Those of `averages` (indices `wanted`) that are to be made, of `elements` weights each.
  LiveAverages(Catalog& catalog, const std::vector<LiveAverage>& averages,
               std::vector<size_t> wanted, uint64_t elements, uint64_t tokens_per_step);
  ~LiveAverages();

  // Whether the weights after this step enter an average.
  bool needs(int64_t step) const;
  // Takes the weights after a step, in ascending order of steps.
  void take(int64_t step, std::span<const float> weights);

  struct Finished {
    size_t average;  // index in `averages`
    std::vector<float> weights;
  };
  // The averages that end at the step taken last, each once.
  std::vector<Finished> finished();

 private:
  struct Open;
  void begin(Open& open);

  Catalog& catalog_;
  const std::vector<LiveAverage>& averages_;
  uint64_t elements_;
  std::vector<std::unique_ptr<Open>> open_;
};

}  // namespace quench
