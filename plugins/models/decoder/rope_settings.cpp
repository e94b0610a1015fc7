#include "models/decoder/rope_settings.hpp"

#include <array>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/config.hpp"
#include "models/decoder/rotary.hpp"

namespace quench::decoder {

namespace {

constexpr std::array<const char*, 2> kObjects = {"/rope_scaling", "/rope_parameters"};

// The type that the objects agree on; "default" if none names one.
std::string type_of(const kit::Json& config) {
  std::string agreed;
  for (const std::string object : kObjects) {
    for (const char* key : {"/rope_type", "/type"}) {  // "type" in old files
      const std::string type = config.string_or(object + key, "");
      if (!type.empty() && !agreed.empty() && type != agreed) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %.60s contradicts another, %.60s",
                  (object + key).c_str() + 1, type.c_str(), agreed.c_str());
      }
      agreed = type.empty() ? agreed : type;
    }
  }
  return agreed.empty() ? "default" : agreed;
}

double number_of(const kit::Json& config, const char* key, double minimum) {
  const std::string old_place = std::string(kObjects[0]) + "/" + key;
  const std::string new_place = std::string(kObjects[1]) + "/" + key;
  const std::array<const char*, 2> places = {old_place.c_str(), new_place.c_str()};
  const std::optional<double> value = agreed_number(config, places);
  if (!value) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rope_scaling: %s is missing", key);
  }
  if (!(*value >= minimum && *value < 1e9)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rope_scaling: %s = %g, wanted %g..1e9", key, *value,
              minimum);
  }
  return *value;
}

double theta_of(const kit::Json& config, std::optional<double> usual) {
  constexpr std::array<const char*, 3> places = {"/rope_theta", "/rope_scaling/rope_theta",
                                                 "/rope_parameters/rope_theta"};
  const std::optional<double> written = agreed_number(config, places);
  if (!written && !usual) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rope_theta is missing");
  }
  const double theta = written ? *written : *usual;
  if (!(theta > 1.0 && theta < 1e12)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rope_theta = %g, wanted 1..1e12", theta);
  }
  return theta;
}

// Llama 3.1's blended frequency, in float32 step by step like the reference.
float llama3_frequency(float plain, const RopeSettings& rope) {
  const auto low = static_cast<float>(rope.low);
  const auto high = static_cast<float>(rope.high);
  const auto factor = static_cast<float>(rope.factor);
  const auto original = static_cast<float>(rope.original);
  const float wave = static_cast<float>(2.0 * std::numbers::pi) / plain;  // in positions
  if (wave > original / low) {
    return plain / factor;
  }
  if (wave < original / high) {
    return plain;
  }
  const float kept = (original / wave - low) / static_cast<float>(rope.high - rope.low);
  return (1.0F - kept) * plain / factor + kept * plain;
}

}  // namespace

RopeSettings read_rope(const kit::Json& config, std::optional<double> usual_theta) {
  RopeSettings rope;
  const std::string type = type_of(config);
  std::vector<std::string_view> understood = {"rope_type", "type", "rope_theta"};
  if (type == "linear") {
    rope.kind = RopeSettings::Kind::kLinear;
    understood.push_back("factor");
  } else if (type == "llama3") {
    rope.kind = RopeSettings::Kind::kLlama3;
    understood.insert(understood.end(), {"factor", "low_freq_factor", "high_freq_factor",
                                         "original_max_position_embeddings"});
  } else if (type != "default") {
    kit::fail(QUENCH_UNSUPPORTED,
              "config: rope_scaling: rope_type %.60s, wanted default, linear or llama3",
              type.c_str());
  }
  for (const char* object : kObjects) {
    refuse_unknown_keys(config, object, understood);
  }
  rope.theta = theta_of(config, usual_theta);
  if (rope.kind != RopeSettings::Kind::kPlain) {
    rope.factor = number_of(config, "factor", 1.0);
  }
  if (rope.kind == RopeSettings::Kind::kLlama3) {
    rope.low = number_of(config, "low_freq_factor", 1e-6);
    rope.high = number_of(config, "high_freq_factor", 1e-6);
    rope.original = number_of(config, "original_max_position_embeddings", 1.0);
    if (rope.high <= rope.low) {
      kit::fail(QUENCH_INVALID_ARGUMENT,
                "config: rope_scaling: high_freq_factor = %g, wanted more than low_freq_factor, %g",
                rope.high, rope.low);
    }
  }
  return rope;
}

at::Tensor frequencies(const RopeSettings& rope, int64_t dims) {
  at::Tensor made = inverse_frequencies(dims, rope.theta);
  auto* values = static_cast<float*>(made.data_ptr());
  for (int64_t i = 0; i < made.numel(); ++i) {
    if (rope.kind == RopeSettings::Kind::kLlama3) {
      values[i] = llama3_frequency(values[i], rope);
    } else {
      values[i] /= static_cast<float>(rope.factor);
    }
  }
  return made;
}

}  // namespace quench::decoder
