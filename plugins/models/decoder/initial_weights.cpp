#include "models/decoder/initial_weights.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "quench/kit/host.hpp"

namespace quench::decoder {

namespace {

constexpr uint64_t kDrawnAtOnce = uint64_t{1} << 16;  // even: two random numbers make two values

// Uniform in (0, 1): 53 bits, plus half a step so that 0 is impossible.
double unit(uint64_t number) {
  return (static_cast<double>(number >> 11) + 0.5) * 0x1p-53;
}

void draw_normal(const std::string& stream, double deviation, const at::Tensor& to) {
  const auto count = static_cast<uint64_t>(to.numel());
  const at::Tensor flat = to.view({-1});
  kit::parallel_for(count, kDrawnAtOnce, [&](uint64_t begin, uint64_t end) {
    const uint64_t pairs = (end - begin + 1) / 2;
    const std::vector<uint64_t> numbers = kit::random_uniform(stream, begin, 2 * pairs);
    std::vector<double> values(2 * pairs);
    for (uint64_t i = 0; i < 2 * pairs; i += 2) {
      const double radius = deviation * std::sqrt(-2.0 * std::log(unit(numbers[i])));
      const double angle = 2.0 * std::numbers::pi * unit(numbers[i + 1]);
      values[i] = radius * std::cos(angle);
      values[i + 1] = radius * std::sin(angle);
    }
    const auto length = static_cast<int64_t>(end - begin);
    const at::Tensor drawn = at::empty({length}, at::TensorOptions(at::kDouble));
    std::copy_n(values.begin(), length, drawn.mutable_data_ptr<double>());
    convert(drawn, flat.narrow(0, static_cast<int64_t>(begin), length));
  });
}

void draw_each(const std::string& stream, const InitialValue& value, const at::Tensor& to) {
  const auto count = static_cast<uint64_t>(to.numel());
  const at::Tensor flat = to.view({-1});
  kit::parallel_for(count, kDrawnAtOnce, [&](uint64_t begin, uint64_t end) {
    const std::vector<uint64_t> numbers = kit::random_uniform(stream, begin, end - begin);
    const auto length = static_cast<int64_t>(end - begin);
    const at::Tensor drawn = at::empty({length}, at::TensorOptions(at::kDouble));
    auto* values = drawn.mutable_data_ptr<double>();
    for (uint64_t i = begin; i < end; ++i) {
      values[i - begin] = value(i, unit(numbers[i - begin]));
    }
    convert(drawn, flat.narrow(0, static_cast<int64_t>(begin), length));
  });
}

}  // namespace

void draw(const WeightSpec& spec, double range, const at::Tensor& to) {
  at::Tensor filled = to;
  if (!(range > 0.0 && range < 1e3)) {
    kit::fail(QUENCH_UNSUPPORTED, "config: initializer_range = %g: no rule for initial weights",
              range);
  }
  if (spec.draw) {
    return draw_each("init/" + spec.name, spec.draw, to);
  }
  if (spec.initial) {
    filled.fill_(*spec.initial);
    return;
  }
  switch (spec.role) {
    case QUENCH_ROLE_MATRIX:
    case QUENCH_ROLE_EMBEDDING:
    case QUENCH_ROLE_HEAD:
      return draw_normal("init/" + spec.name, range, to);
    case QUENCH_ROLE_NORM:
      filled.fill_(1.0);
      return;
    case QUENCH_ROLE_BIAS:
      filled.fill_(0.0);
      return;
    default:
      kit::fail(QUENCH_UNSUPPORTED, "%s has no rule for its initial value", spec.name.c_str());
  }
}

}  // namespace quench::decoder
