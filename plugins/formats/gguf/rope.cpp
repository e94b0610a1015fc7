#include "formats/gguf/rope.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "quench/kit/error.hpp"

namespace quench::gguf {

namespace {

constexpr double kUsualTheta = 10000.0;
constexpr const char* kDivisors = "rope_freqs.weight";

constexpr double kLow = 1.0;
constexpr double kHigh = 4.0;
constexpr int64_t kOriginal = 8192;  // positions

// Between float32 and float64 divisors; other parameters move some divisor by percents.
constexpr double kDivisorTolerance = 1e-4;

// By how much Llama 3.1 divides a frequency (in radians a position).
double llama3_divisor(double frequency, double factor) {
  const double turns = static_cast<double>(kOriginal) * frequency / (2.0 * std::numbers::pi);
  if (turns > kHigh) {
    return 1.0;
  }
  if (turns < kLow) {
    return factor;
  }
  const double smooth = (turns - kLow) / (kHigh - kLow);
  return 1.0 / ((1.0 - smooth) / factor + smooth);
}

std::string text_of(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

// The factor that gives these divisors, 1 where all are 1.
double llama3_factor(const Metadata& metadata, std::span<const float> divisors, double theta,
                     int64_t width) {
  if (divisors.size() != static_cast<size_t>(width / 2)) {
    metadata.refuse(QUENCH_DATA_LOSS, kDivisors,
                    std::to_string(divisors.size()) + " divisors, wanted " +
                        std::to_string(width / 2) + ", half of a head");
  }
  const double factor = shortest_decimal(*std::max_element(divisors.begin(), divisors.end()));
  for (size_t i = 0; i < divisors.size(); ++i) {
    const double frequency =
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    const double expected = llama3_divisor(frequency, factor);
    // Written so that NaN is refused.
    if (!(std::fabs(divisors[i] / expected - 1.0) <= kDivisorTolerance)) {
      metadata.refuse(QUENCH_UNSUPPORTED, kDivisors,
                      "divisor " + std::to_string(i) + " is " + text_of(divisors[i]) + ", wanted " +
                          text_of(expected) +
                          " (llama3 scaling from 8192 positions, low_freq_factor 1, "
                          "high_freq_factor 4)");
    }
  }
  return factor;
}

// The factor of linear scaling, 1 where there is none. A type is `linear` where the file is silent.
double linear_factor(const Metadata& metadata, const std::string& architecture) {
  const std::string type_key = architecture + ".rope.scaling.type";
  const std::string type = metadata.text(type_key).value_or("linear");
  if (type == "none") {
    return 1.0;
  }
  if (type != "linear") {
    metadata.refuse(QUENCH_UNSUPPORTED, type_key, shown(type) + ", wanted none or linear");
  }
  const std::string old_key = architecture + ".rope.scale_linear";
  const std::string key = architecture + ".rope.scaling.factor";
  const double factor =
      metadata.has(key) ? *metadata.number(key) : metadata.number(old_key).value_or(1.0);
  return factor == 0.0 ? 1.0 : factor;
}

}  // namespace

double rope_theta(const Metadata& metadata, const std::string& architecture) {
  return metadata.number(architecture + ".rope.freq_base").value_or(kUsualTheta);
}

nlohmann::json rope_scaling(const Metadata& metadata, const std::string& architecture,
                            std::span<const float> divisors, double theta, int64_t width) {
  const double linear = linear_factor(metadata, architecture);
  const double llama3 = divisors.empty() ? 1.0 : llama3_factor(metadata, divisors, theta, width);
  if (linear != 1.0 && llama3 != 1.0) {
    metadata.refuse(QUENCH_UNSUPPORTED, kDivisors, "beside linear scaling");
  }
  if (linear != 1.0) {
    return {{"rope_type", "linear"}, {"factor", linear}};
  }
  if (llama3 != 1.0) {
    return {{"rope_type", "llama3"},
            {"factor", llama3},
            {"low_freq_factor", kLow},
            {"high_freq_factor", kHigh},
            {"original_max_position_embeddings", kOriginal}};
  }
  return nullptr;
}

}  // namespace quench::gguf
