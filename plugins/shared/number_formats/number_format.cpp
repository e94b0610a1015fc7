#include "shared/number_formats/number_format.hpp"

#include <algorithm>
#include <cmath>

namespace quench::number_formats {

namespace {

constexpr FloatElement kNoFloat{0, 0, Specials::kNone};
constexpr int64_t kMxBlock = 32;
constexpr int64_t kNvfp4Block = 16;

constexpr NumberFormat mx(std::string_view name, const FloatElement& element) {
  return {name,
          ElementType::kFloat,
          element,
          0,
          ScaleType::kE8M0,
          kMxBlock,
          static_cast<double>(element.bits())};
}
constexpr NumberFormat scaled(std::string_view name, const FloatElement& element) {
  return {name,
          ElementType::kFloat,
          element,
          0,
          ScaleType::kFloat32,
          0,
          static_cast<double>(element.bits())};
}

constexpr NumberFormat kFormats[] = {
    mx("mxfp4", kE2M1),
    mx("mxfp6_e2m3", kE2M3),
    mx("mxfp6_e3m2", kE3M2),
    mx("mxfp8_e4m3", kE4M3),
    mx("mxfp8_e5m2", kE5M2),
    {"nvfp4", ElementType::kFloat, kE2M1, 0, ScaleType::kTwoLevel, kNvfp4Block, 4},
    scaled("fp8_e4m3", kE4M3),
    scaled("fp8_e5m2", kE5M2),
    {"ternary", ElementType::kTernary, kNoFloat, 1, ScaleType::kFloat32, 0, 8.0 / 5},
    {"binary", ElementType::kBinary, kNoFloat, 1, ScaleType::kFloat32, 0, 1},
    {"int4", ElementType::kInteger, kNoFloat, 7, ScaleType::kFloat32, 0, 4},
    {"int8", ElementType::kInteger, kNoFloat, 127, ScaleType::kFloat32, 0, 8},
};

}  // namespace

int64_t NumberFormat::entries() const {
  return type == ElementType::kFloat    ? int64_t{1} << element.bits()
         : type == ElementType::kBinary ? 2
                                        : 2 * int64_t{integer} + 1;
}

double NumberFormat::bits_per_value(double values, double scales) const {
  const double tensor = has_tensor_scale() ? 32 : 0;
  return element_bits + (scale_bits() * scales + tensor) / values;
}

std::span<const NumberFormat> number_formats() {
  return kFormats;
}

const NumberFormat* find_number_format(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const NumberFormat& format) { return format.name == name; });
  return found != std::end(kFormats) ? found : nullptr;
}

const char* float_format_names() {
  static const std::string names = [] {
    std::string joined;
    for (const NumberFormat& format : kFormats) {
      if (format.type != ElementType::kInteger) {
        joined += (joined.empty() ? "" : "|") + std::string(format.name);
      }
    }
    return joined;
  }();
  return names.c_str();
}

std::array<double, 256> elements_of(const NumberFormat& format) {
  std::array<double, 256> out{};
  for (int64_t code = 0; code < format.entries(); ++code) {
    out[static_cast<size_t>(code)] = format.element_of(static_cast<uint8_t>(code));
  }
  return out;
}

}  // namespace quench::number_formats
