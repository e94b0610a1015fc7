// Weights as places in a table of sixteen values, with one factor per block of consecutive weights:
// the 4-bit types of bitsandbytes (Dettmers et al. 2023, QLoRA, arXiv 2305.14314, section 3).
//
// Blocks run over the weight in C order, so they cross from row to row where rows are no multiple
// of them. All arithmetic is float32, or float64 where the weight is.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace quench::quantizers {

inline constexpr size_t kLevels = 16;

// The values of a type by code, in [-1, 1]; one of them is 0.
using Levels = std::array<float, kLevels>;

// A code goes with the level nearest to the value; halfway, with the lower of two.
class LevelSearch {
 public:
  explicit LevelSearch(const Levels& levels);
  template <typename T>
  uint8_t code_of(T value) const {
    int below = 0;
    for (const float middle : middles_) {
      below += value > static_cast<T>(middle) ? 1 : 0;
    }
    return order_[static_cast<size_t>(below)];
  }
  uint8_t zero() const { return zero_; }

 private:
  std::array<float, kLevels - 1> middles_{};  // between neighbours
  std::array<uint8_t, kLevels> order_{};      // codes by ascending level
  uint8_t zero_ = 0;
};

// The largest magnitude of each block of `weight`.
template <typename T>
std::vector<float> block_maxima(std::span<const T> weight, int64_t block);

// Codes of `weight`, each value divided by its block's maximum.
template <typename T>
void find_codes(std::span<const T> weight, std::span<const float> maxima, int64_t block,
                const Levels& levels, std::span<uint8_t> codes);

// levels[code] * factor.
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
