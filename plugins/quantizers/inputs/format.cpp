#include "quantizers/inputs/format.hpp"

#include <array>
#include <string>

#include "quantizers/inputs/floats.hpp"
#include "quantizers/inputs/integers.hpp"
#include "quench/kit/error.hpp"

namespace quench::quantizers {

namespace {

using number_formats::NumberFormat;

struct Entry {
  const char* name;
  std::unique_ptr<ActivationFormat> (*make)(const ActivationSettings& settings);
};

template <int64_t kBits>
std::unique_ptr<ActivationFormat> integers_of(const ActivationSettings& settings) {
  return integers(kBits, settings.activation_sym);
}

// Besides the floating-point formats of shared/number_formats, all of which are.
constexpr std::array kFormats = {
    Entry{"int2", integers_of<2>}, Entry{"int3", integers_of<3>}, Entry{"int4", integers_of<4>},
    Entry{"int5", integers_of<5>}, Entry{"int6", integers_of<6>}, Entry{"int7", integers_of<7>},
    Entry{"int8", integers_of<8>},
};

bool is_float(const NumberFormat& format) {
  return format.type == number_formats::ElementType::kFloat;
}

}  // namespace

void ActivationFormat::round(std::span<double> values, Range range) const {
  rule_.with([&](const auto& rule) { round_by(rule, values, range); });
}

void ActivationFormat::check(const char*, const ActivationSettings&) const {}

const char* activation_choices() {
  static const std::string kNames = [] {
    std::string names = "float";
    for (const Entry& entry : kFormats) {
      names += std::string("|") + entry.name;
    }
    for (const NumberFormat& format : number_formats::number_formats()) {
      names += is_float(format) ? "|" + std::string(format.name) : "";
    }
    return names;
  }();
  return kNames.c_str();
}

std::unique_ptr<ActivationFormat> activation_format(const ActivationSettings& settings) {
  for (const Entry& entry : kFormats) {
    if (settings.activations == entry.name) {
      return entry.make(settings);
    }
  }
  const NumberFormat* format = number_formats::find_number_format(settings.activations);
  if (format == nullptr || !is_float(*format)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "activations: got \"%s\", wanted one of %s",
              settings.activations.c_str(), activation_choices());
  }
  return floats(*format);
}

}  // namespace quench::quantizers
