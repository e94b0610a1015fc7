#include "quantizers/codebook/double_quantization.hpp"

#include <algorithm>
#include <cmath>

namespace quench::quantizers {

namespace {

// `count` values from 0.1 to 1 in equal steps, in float32, computed from both ends like
// torch.linspace.
std::vector<float> linspace(size_t count) {
  const float step = (1.0F - 0.1F) / static_cast<float>(count - 1);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = i < count / 2 ? 0.1F + step * static_cast<float>(i)
                              : 1.0F - step * static_cast<float>(count - 1 - i);
  }
  return values;
}

// Seven decades. Decade i has 2^i values of each sign: the midpoints of as many parts of [0.1, 1].
std::array<float, 256> make_levels() {
  constexpr int kDecades = 7;
  std::vector<float> levels = {0.0F, 1.0F};
  for (int i = 0; i < kDecades; ++i) {
    const std::vector<float> bounds = linspace((size_t{1} << i) + 1);
    const auto decade = static_cast<float>(std::pow(10.0, i - (kDecades - 1)));
    for (size_t k = 0; k + 1 < bounds.size(); ++k) {
      const float middle = (bounds[k] + bounds[k + 1]) / 2;
      levels.push_back(decade * middle);
      levels.push_back(-decade * middle);
    }
  }
  std::sort(levels.begin(), levels.end());
  std::array<float, 256> made{};
  std::copy(levels.begin(), levels.end(), made.begin());
  return made;
}

// The code of the level nearest to `value`; halfway between two, the lower level.
uint8_t code_of(float value) {
  static const std::array<float, 255> kMiddles = [] {
    std::array<float, 255> middles{};
    for (size_t i = 0; i < middles.size(); ++i) {
      middles[i] = (dynamic_levels()[i] + dynamic_levels()[i + 1]) / 2;
    }
    return middles;
  }();
  return static_cast<uint8_t>(std::lower_bound(kMiddles.begin(), kMiddles.end(), value) -
                              kMiddles.begin());
}

}  // namespace

const std::array<float, 256>& dynamic_levels() {
  static const std::array<float, 256> kMade = make_levels();
  return kMade;
}

CodedFactors code_factors(std::span<const float> factors) {
  CodedFactors out;
  double sum = 0;
  for (const float factor : factors) {
    sum += factor;
  }
  out.mean = static_cast<float>(sum / static_cast<double>(factors.size()));
  for (size_t first = 0; first < factors.size(); first += kFactorBlock) {
    const size_t last = std::min(first + kFactorBlock, factors.size());
    float largest = 0;
    for (size_t i = first; i < last; ++i) {
      largest = std::max(largest, std::abs(factors[i] - out.mean));
    }
    out.maxima.push_back(largest);
    const float reciprocal = 1 / std::max(largest, 1e-38F);
    for (size_t i = first; i < last; ++i) {
      const float scaled = std::clamp((factors[i] - out.mean) * reciprocal, -1.0F, 1.0F);
      out.codes.push_back(code_of(scaled));
      out.decoded.push_back(dynamic_levels()[out.codes.back()] * largest + out.mean);
    }
  }
  return out;
}

}  // namespace quench::quantizers
