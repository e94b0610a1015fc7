#include "quantizers/cache/cache_format.hpp"

#include <cmath>

namespace quench::quantizers {

namespace {

class Extremes final : public ActivationFormat {
 public:
  explicit Extremes(double bits)
      : ActivationFormat(ValueRule(ExtremesRule{std::exp2(bits) - 1})), bits_(bits) {}

  double bits() const override { return bits_; }
  double range_bits() const override { return 32; }  // scale and zero point

 private:
  double bits_;
};

}  // namespace

bool is_integer_format(const CacheSettings& settings) {
  return settings.format.starts_with("int");
}

bool takes_extremes(const CacheSettings& settings) {
  return is_integer_format(settings) && settings.range == "min_max";
}

std::unique_ptr<ActivationFormat> cache_format(const CacheSettings& settings) {
  if (takes_extremes(settings)) {
    return std::make_unique<Extremes>(settings.format.back() - '0');
  }
  ActivationSettings of_inputs;
  of_inputs.activations = settings.format;
  of_inputs.activation_sym = settings.range != "with_zero";
  return activation_format(of_inputs);
}

}  // namespace quench::quantizers
