// Weights as indices into a table of sixteen values, with one factor per block of consecutive
// weights: the 4-bit types of bitsandbytes (Dettmers et al. 2023, QLoRA, arXiv 2305.14314, section
// 3).
//
// Blocks run over the weight in C order and continue in the next row if they do not divide a row.
// Arithmetic is float32, or float64 for a float64 weight.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/cuda/both.hpp"

namespace quench::quantizers {

inline constexpr size_t kLevels = 16;

// A type's values by code, in [-1, 1]; one of them is 0.
using Levels = std::array<float, kLevels>;

// Finds the code of the level nearest to a value; halfway between two, the lower level.
class LevelSearch {
 public:
  explicit LevelSearch(const Levels& levels);
  template <typename T>
  QUENCH_BOTH uint8_t code_of(T value) const {
    int below = 0;
    for (const float middle : middles_) {
      below += value > static_cast<T>(middle) ? 1 : 0;
    }
    return order_[static_cast<size_t>(below)];
  }
  QUENCH_BOTH uint8_t zero() const { return zero_; }

 private:
  std::array<float, kLevels - 1> middles_{};  // midpoints of neighbouring levels
  std::array<uint8_t, kLevels> order_{};      // codes by ascending level
  uint8_t zero_ = 0;
};

// The codes of one block's weights. Multiplies by the reciprocal of the block's maximum, like the
// published kernels; divides if the reciprocal is beyond the type's range.
template <typename T>
class BlockCoder {
 public:
  QUENCH_BOTH BlockCoder(const LevelSearch& search, float maximum)
      : search_(search),
        maximum_(static_cast<T>(maximum)),
        reciprocal_(1 / maximum_),
        usable_(std::isfinite(reciprocal_)) {}
  QUENCH_BOTH uint8_t code_of(T weight) const {
    const T value = usable_ ? weight * reciprocal_ : weight / maximum_;
    return maximum_ > 0 ? search_.code_of(value) : search_.zero();
  }

 private:
  const LevelSearch& search_;
  T maximum_;
  T reciprocal_;
  bool usable_;
};

// The largest magnitude of each block of `weight`.
template <typename T>
std::vector<float> block_maxima(std::span<const T> weight, int64_t block);

// The codes of `weight`, after each value is divided by its block's maximum.
template <typename T>
void find_codes(std::span<const T> weight, std::span<const float> maxima, int64_t block,
                const Levels& levels, std::span<uint8_t> codes);

// Writes levels[code] * factor.
template <typename T>
void look_up(std::span<const uint8_t> codes, std::span<const float> factors, int64_t block,
             const Levels& levels, std::span<T> out);

extern template std::vector<float> block_maxima(std::span<const float>, int64_t);
extern template std::vector<float> block_maxima(std::span<const double>, int64_t);
extern template void find_codes(std::span<const float>, std::span<const float>, int64_t,
                                const Levels&, std::span<uint8_t>);
extern template void find_codes(std::span<const double>, std::span<const float>, int64_t,
                                const Levels&, std::span<uint8_t>);
extern template void look_up(std::span<const uint8_t>, std::span<const float>, int64_t,
                             const Levels&, std::span<float>);
extern template void look_up(std::span<const uint8_t>, std::span<const float>, int64_t,
                             const Levels&, std::span<double>);

}  // namespace quench::quantizers
