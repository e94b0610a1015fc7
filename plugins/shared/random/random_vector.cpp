#include "shared/random/random_vector.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include "quench/kit/host.hpp"

namespace quench::random {

namespace {

constexpr uint64_t kChunk = uint64_t{1} << 14;  // even

double unit(uint64_t number) {
  return (static_cast<double>(number >> 11) + 0.5) * 0x1p-53;
}

}  // namespace

template <typename T>
void draw_normal(const std::string& stream, std::span<T> to) {
  kit::parallel_for(to.size(), kChunk, [&](uint64_t begin, uint64_t end) {
    const auto numbers = kit::random_uniform(stream, begin, (end - begin + 1) / 2 * 2);
    for (uint64_t i = begin; i < end; ++i) {
      const uint64_t first = (i - begin) / 2 * 2;
      const double radius = std::sqrt(-2.0 * std::log(unit(numbers[first])));
      const double angle = 2.0 * std::numbers::pi * unit(numbers[first + 1]);
      to[i] = static_cast<T>(radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)));
    }
  });
}

template <typename T>
void draw_signs(const std::string& stream, std::span<T> to) {
  kit::parallel_for(to.size(), kChunk, [&](uint64_t begin, uint64_t end) {
    const auto numbers = kit::random_uniform(stream, begin, end - begin);
    for (uint64_t i = begin; i < end; ++i) {
      to[i] = numbers[i - begin] >> 63 == 0 ? T{1} : T{-1};
    }
  });
}

template void draw_normal<double>(const std::string&, std::span<double>);
template void draw_normal<float>(const std::string&, std::span<float>);
template void draw_signs<double>(const std::string&, std::span<double>);
template void draw_signs<float>(const std::string&, std::span<float>);

}  // namespace quench::random
