// What a format does to values that share a range: compiled for processors and for GPUs of this one
// source, so that both round to the same bits.
//
//   block()         consecutive values that share a scale; 0: all
//   scale_of(..)    of a range, and of the largest magnitude of a block
//   rounded(..)     the nearest value of the format
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "shared/cuda/both.hpp"
#include "shared/grid/grid.hpp"
#include "shared/number_formats/number_format.hpp"

namespace quench::quantizers {

// A symmetric grid spans [-a, a] in 2^bits - 1 steps, whatever the signs of the values: scale = 2a
// / (2^bits - 1), codes -2^(bits-1) .. 2^(bits-1) - 1. So do compressed-tensors and llm-compressor;
// LLM.int8 and QuaRot divide a by 2^(bits-1) - 1 instead.
struct IntegerRule {
  GridKind kind;

  QUENCH_BOTH int64_t block() const { return 0; }
  QUENCH_BOTH Grid scale_of(Range range, double) const {
    if (!kind.sym) {
      return grid_of(range.min, range.max, kind);
    }
    const double largest = std::max(-range.min, range.max);
    return 2 * largest / kind.max_code() > 0 ? grid_of(Range{-largest, largest}, kind)
                                             : grid_of(0, 0, kind);
  }
  QUENCH_BOTH double rounded(double value, Grid grid) const {
    return grid.scale * (code_of(value, grid.scale, grid.zero, kind.max_code()) - grid.zero);
  }
};

// x = min + scale * code with scale = (max - min) / (2^bits - 1), min the zero point in float; as
// KIVI has it (Liu et al. 2024, arXiv 2402.02750, section 3.1). Scale and zero point are not
// rounded themselves. rint rounds half to even.
struct ExtremesRule {
  double most;  // 2^bits - 1

  struct Steps {
    double min;
    double scale;
  };
  QUENCH_BOTH int64_t block() const { return 0; }
  QUENCH_BOTH Steps scale_of(Range range, double) const {
    return {range.min, (range.max - range.min) / most};
  }
  QUENCH_BOTH double rounded(double value, Steps steps) const {
    const double code = steps.scale > 0 ? std::rint((value - steps.min) / steps.scale) : 0;
    return steps.min + steps.scale * std::clamp(code, 0.0, most);
  }
};

// fp8: one float32 scale for what shares a range, a / (largest number), a being the largest
// magnitude of the range. mxfp4, mxfp6, mxfp8: a power of two for each block of 32 columns, and no
// range. nvfp4: a scale in E4M3 for each block of 16, relative to one in float32 of the range.
struct FloatRule {
  number_formats::NumberFormat format;

  QUENCH_BOTH int64_t block() const { return format.block; }
  QUENCH_BOTH double scale_of(Range range, double largest) const {
    const double of_range = std::max(-range.min, range.max);
    return format.block == 0 ? format.scale_of(of_range)
                             : format.scale_of(largest, format.tensor_scale_of(of_range));
  }
  QUENCH_BOTH double rounded(double value, double scale) const {
    return scale * format.element_of(format.code_of(value, scale));
  }
};

// One of them, as a kernel is given it.
class ValueRule {
 public:
  explicit ValueRule(const IntegerRule& rule) : kind_(Kind::kIntegers), integers_(rule) {}
  explicit ValueRule(const ExtremesRule& rule) : kind_(Kind::kExtremes), extremes_(rule) {}
  explicit ValueRule(const FloatRule& rule) : kind_(Kind::kFloats), floats_(rule) {}

  // Calls `use` with the rule.
  template <typename Use>
  QUENCH_KERNEL void with(const Use& use) const {
    switch (kind_) {
      case Kind::kIntegers:
        use(integers_);
        return;
      case Kind::kExtremes:
        use(extremes_);
        return;
      case Kind::kFloats:
        use(floats_);
        return;
    }
  }

 private:
  enum class Kind { kIntegers, kExtremes, kFloats };
  Kind kind_;
  IntegerRule integers_{};
  ExtremesRule extremes_{};
  FloatRule floats_{};
};

// Rounds `count` values that share a range, whole blocks: `get(i)` gives one, `set(i, x)` takes it.
template <typename Rule, typename Get, typename Set>
QUENCH_KERNEL void round_values(const Rule& rule, int64_t count, Range range, const Get& get,
                                const Set& set) {
  const int64_t block = rule.block() > 0 ? rule.block() : count;
  for (int64_t first = 0; first < count; first += block) {
    double largest = 0;
    for (int64_t i = first; i < first + block && rule.block() > 0; ++i) {
      const double magnitude = std::fabs(get(i));
      largest = magnitude > largest ? magnitude : largest;
    }
    const auto scale = rule.scale_of(range, largest);
    for (int64_t i = first; i < first + block; ++i) {
      set(i, rule.rounded(get(i), scale));
    }
  }
}

}  // namespace quench::quantizers
