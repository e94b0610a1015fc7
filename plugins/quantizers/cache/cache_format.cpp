#include "quantizers/cache/cache_format.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace quench::quantizers {

namespace {

// x = min + scale * code with scale = (max - min) / (2^bits - 1), min the zero point in float; as
// KIVI has it (Liu et al. 2024, arXiv 2402.02750, section 3.1). Scale and zero point are not
// rounded themselves. rint rounds half to even.
class Extremes final : public ActivationFormat {
 public:
  explicit Extremes(int64_t bits) : bits_(static_cast<double>(bits)) {}

  void round(std::span<double> values, Range range) const override {
    const double most = std::exp2(bits_) - 1;
    const double scale = (range.max - range.min) / most;
    for (double& value : values) {
      const double code = scale > 0 ? std::rint((value - range.min) / scale) : 0;
      value = range.min + scale * std::clamp(code, 0.0, most);
    }
  }
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
