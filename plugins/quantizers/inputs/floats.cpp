#include "quantizers/inputs/floats.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "quench/kit/error.hpp"

namespace quench::quantizers {

namespace {

// A processor looks elements up in half the time that it takes to compute them.
struct TabledRule : FloatRule {
  const std::array<double, 256>& elements;
  double rounded(double value, double scale) const {
    return scale * elements[format.code_of(value, scale)];
  }
};

class Floats final : public ActivationFormat {
 public:
  explicit Floats(const number_formats::NumberFormat& format)
      : ActivationFormat(ValueRule(FloatRule{format})),
        format_(format),
        elements_(elements_of(format)) {}

  void round(std::span<double> values, Range range) const override {
    round_by(TabledRule{{format_}, elements_}, values, range);
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
  const number_formats::NumberFormat& format_;
  std::array<double, 256> elements_;
};

}  // namespace

std::unique_ptr<ActivationFormat> floats(const number_formats::NumberFormat& format) {
  return std::make_unique<Floats>(format);
}

}  // namespace quench::quantizers
