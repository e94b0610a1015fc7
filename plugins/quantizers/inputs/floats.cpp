// fp8: one float32 scale for what shares a range, a / (largest number), a being the largest
// magnitude of the range. mxfp4, mxfp6, mxfp8: a power of two for each block of 32 columns, and no
// range. nvfp4: a scale in E4M3 for each block of 16, relative to one in float32 of the range.
#include "quantizers/inputs/floats.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "quench/kit/error.hpp"

namespace quench::quantizers {

namespace {

class Floats final : public ActivationFormat {
 public:
  explicit Floats(const number_formats::NumberFormat& format)
      : format_(format), elements_(elements_of(format)) {}

  void round(std::span<double> values, Range range) const override {
    const double largest = std::max(-range.min, range.max);
    if (format_.block == 0) {
      round_to(values, format_.scale_of(largest));
      return;
    }
    const double tensor_scale = format_.tensor_scale_of(largest);
    const auto block = static_cast<size_t>(format_.block);
    for (size_t first = 0; first < values.size(); first += block) {
      const std::span<double> part = values.subspan(first, block);
      round_to(part,
               format_.scale_of(statistic_of(format_, part.data(), format_.block), tensor_scale));
    }
  }

  void check(const char* id, const ActivationSettings& settings) const override {
    const std::string name(format_.name);
    if (!settings.activation_sym) {
      kit::fail(QUENCH_INVALID_ARGUMENT,
                "%s: activation_sym is of integers, and activations = %s has a sign", id,
                name.c_str());
    }
    if (format_.block == 0) {
      return;
    }
    const bool ranges = settings.is_static() || settings.activation_per != "token";
    if (settings.activation_per == "group" || (ranges && !format_.has_tensor_scale())) {
      kit::fail(QUENCH_INVALID_ARGUMENT,
                "%s: activations = %s has scales for blocks of %lld columns of its own; wanted "
                "activation_per = token%s",
                id, name.c_str(), static_cast<long long>(format_.block),
                format_.has_tensor_scale() ? " or tensor" : " and activation_range = dynamic");
    }
  }
  int64_t block() const override { return std::max<int64_t>(1, format_.block); }
  double bits() const override {
    return format_.element_bits +
           (format_.block > 0 ? format_.scale_bits() / static_cast<double>(format_.block) : 0);
  }
  double range_bits() const override {
    return format_.block == 0 || format_.has_tensor_scale() ? 32 : 0;
  }

 private:
  void round_to(std::span<double> values, double scale) const {
    for (double& value : values) {
      value = scale * elements_[format_.code_of(value, scale)];
    }
  }

  const number_formats::NumberFormat& format_;
  std::array<double, 256> elements_;
};

}  // namespace

std::unique_ptr<ActivationFormat> floats(const number_formats::NumberFormat& format) {
  return std::make_unique<Floats>(format);
}

}  // namespace quench::quantizers
