// A symmetric grid spans [-a, a] in 2^bits - 1 steps, whatever the signs of the values: scale = 2a
// / (2^bits - 1), codes -2^(bits-1) .. 2^(bits-1) - 1. So do compressed-tensors and llm-compressor;
// LLM.int8 and QuaRot divide a by 2^(bits-1) - 1 instead.
#include "quantizers/inputs/integers.hpp"

#include <algorithm>

namespace quench::quantizers {

namespace {

class Integers final : public ActivationFormat {
 public:
  Integers(int64_t bits, bool sym) : kind_{bits, sym} {}

  void round(std::span<double> values, Range range) const override {
    const Grid grid = grid_for(range);
    for (double& value : values) {
      value = grid.scale * (code_of(value, grid.scale, grid.zero, kind_.max_code()) - grid.zero);
    }
  }
  double bits() const override { return static_cast<double>(kind_.bits); }
  double range_bits() const override { return 16.0 + (kind_.sym ? 0.0 : bits()); }

 private:
  Grid grid_for(Range range) const {
    if (!kind_.sym) {
      return grid_of(range.min, range.max, kind_);
    }
    const double largest = std::max(-range.min, range.max);
    return 2 * largest / kind_.max_code() > 0 ? grid_of(Range{-largest, largest}, kind_)
                                              : grid_of(0, 0, kind_);
  }

  GridKind kind_;
};

}  // namespace

std::unique_ptr<ActivationFormat> integers(int64_t bits, bool sym) {
  return std::make_unique<Integers>(bits, sym);
}

}  // namespace quench::quantizers
