#include "quantizers/codebook/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quench/kit/host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kBlockGrain = 256;

// Calls body(block, first, last) for every block of `count` values.
template <typename Body>
void for_each_block(size_t count, int64_t block, Body body) {
  const auto size = static_cast<size_t>(block);
  kit::parallel_for((count + size - 1) / size, kBlockGrain, [&](uint64_t begin, uint64_t end) {
    for (uint64_t b = begin; b < end; ++b) {
      body(b, b * size, std::min((b + 1) * size, count));
    }
  });
}

}  // namespace

LevelSearch::LevelSearch(const Levels& levels) {
  std::iota(order_.begin(), order_.end(), uint8_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](uint8_t a, uint8_t b) { return levels[a] < levels[b]; });
  for (size_t i = 0; i < middles_.size(); ++i) {
    middles_[i] = (levels[order_[i]] + levels[order_[i + 1]]) / 2;
  }
  zero_ = static_cast<uint8_t>(std::find(levels.begin(), levels.end(), 0.0F) - levels.begin());
}

template <typename T>
std::vector<float> block_maxima(std::span<const T> weight, int64_t block) {
  const auto size = static_cast<size_t>(block);
  std::vector<float> maxima((weight.size() + size - 1) / size);
  for_each_block(weight.size(), block, [&](uint64_t b, size_t first, size_t last) {
    T largest = 0;
    for (size_t i = first; i < last; ++i) {
      largest = std::max(largest, std::abs(weight[i]));
    }
    maxima[b] = static_cast<float>(largest);
  });
  return maxima;
}

template <typename T>
void find_codes(std::span<const T> weight, std::span<const float> maxima, int64_t block,
                const Levels& levels, std::span<uint8_t> codes) {
  const LevelSearch search(levels);
  for_each_block(weight.size(), block, [&](uint64_t b, size_t first, size_t last) {
    const BlockCoder<T> coder(search, maxima[b]);
    for (size_t i = first; i < last; ++i) {
      codes[i] = coder.code_of(weight[i]);
    }
  });
}

template <typename T>
void look_up(std::span<const uint8_t> codes, std::span<const float> factors, int64_t block,
             const Levels& levels, std::span<T> out) {
  for_each_block(codes.size(), block, [&](uint64_t b, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      out[i] = static_cast<T>(levels[codes[i]]) * static_cast<T>(factors[b]);
    }
  });
}

template std::vector<float> block_maxima(std::span<const float>, int64_t);
template std::vector<float> block_maxima(std::span<const double>, int64_t);
template void find_codes(std::span<const float>, std::span<const float>, int64_t, const Levels&,
                         std::span<uint8_t>);
template void find_codes(std::span<const double>, std::span<const float>, int64_t, const Levels&,
                         std::span<uint8_t>);
template void look_up(std::span<const uint8_t>, std::span<const float>, int64_t, const Levels&,
                      std::span<float>);
template void look_up(std::span<const uint8_t>, std::span<const float>, int64_t, const Levels&,
                      std::span<double>);

}  // namespace quench::quantizers
