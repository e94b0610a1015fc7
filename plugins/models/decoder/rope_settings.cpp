#include "models/decoder/rope_settings.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/config.hpp"
#include "models/decoder/rotary.hpp"

namespace quench::decoder {

namespace {

// The objects that may hold settings, as JSON pointers.
using Objects = std::vector<std::string>;

// The type that the objects agree on; "default" if none names one.
std::string type_of(const kit::Json& config, const Objects& objects) {
  std::string agreed;
  for (const std::string& object : objects) {
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

std::optional<double> find_number(const kit::Json& config, const Objects& objects,
                                  const char* key) {
  Objects places;
  std::vector<const char*> pointers;
  for (const std::string& object : objects) {
    places.push_back(object + "/" + key);
  }
  for (const std::string& place : places) {
    pointers.push_back(place.c_str());
  }
  return agreed_number(config, pointers);
}

double number_of(const kit::Json& config, const Objects& objects, const char* key, double minimum,
                 std::optional<double> usual = std::nullopt) {
  const std::optional<double> found = find_number(config, objects, key);
  const std::optional<double> value = found ? found : usual;
  if (!value) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rope_scaling: %s is missing", key);
  }
  if (!(*value >= minimum && *value < 1e9)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rope_scaling: %s = %g, wanted %g..1e9", key, *value,
              minimum);
  }
  return *value;
}

double theta_of(const kit::Json& config, Objects objects, std::optional<double> usual) {
  if (objects.size() > 1) {
    objects.insert(objects.begin(), "");  // the old place
  }
  const std::optional<double> written = find_number(config, objects, "rope_theta");
  if (!written && !usual) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: rope_theta is missing");
  }
  return checked_theta(written ? *written : *usual, "rope_theta");
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

// How far each pair of a head is slowed by YaRN: 0 as it was, 1 by the whole factor.
class YarnRamp {
 public:
  YarnRamp(const RopeSettings& rope, int64_t dims) {
    const auto pair = [&](double turns) {  // that turns so often in the original positions
      return static_cast<double>(dims) *
             std::log(rope.original / (turns * 2.0 * std::numbers::pi)) /
             (2.0 * std::log(rope.theta));
    };
    first_ = std::max(std::floor(pair(rope.high)), 0.0);
    last_ = std::min(std::ceil(pair(rope.low)), static_cast<double>(dims - 1));
    last_ += first_ == last_ ? 0.001 : 0.0;
  }
  float at(int64_t pair) const {
    return std::clamp((static_cast<float>(pair) - static_cast<float>(first_)) /
                          static_cast<float>(last_ - first_),
                      0.0F, 1.0F);
  }

 private:
  double first_;
  double last_;
};

void read_yarn(const kit::Json& config, const Objects& objects, RopeSettings& rope) {
  rope.low = number_of(config, objects, "beta_slow", 1e-6, 1.0);
  rope.high = number_of(config, objects, "beta_fast", 1e-6, 32.0);
  rope.original = number_of(config, objects, "original_max_position_embeddings", 1.0,
                            config.number_or("/max_position_embeddings", 0.0));
  rope.magnitude = number_of(config, objects, "attention_factor", 1e-6,
                             rope.factor > 1.0 ? 0.1 * std::log(rope.factor) + 1.0 : 1.0);
}

}  // namespace

double checked_theta(double theta, const char* key) {
  if (!(theta > 1.0 && theta < 1e12)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "config: %s = %g, wanted 1..1e12", key, theta);
  }
  return theta;
}

RopeSettings read_rope(const kit::Json& config, std::optional<double> usual_theta,
                       const std::string& only) {
  const Objects objects =
      only.empty() ? Objects{"/rope_scaling", "/rope_parameters"} : Objects{only};
  RopeSettings rope;
  const std::string type = type_of(config, objects);
  std::vector<std::string_view> understood = {"rope_type", "type", "rope_theta"};
  if (type == "linear") {
    rope.kind = RopeSettings::Kind::kLinear;
    understood.push_back("factor");
  } else if (type == "llama3") {
    rope.kind = RopeSettings::Kind::kLlama3;
    understood.insert(understood.end(), {"factor", "low_freq_factor", "high_freq_factor",
                                         "original_max_position_embeddings"});
  } else if (type == "yarn") {
    rope.kind = RopeSettings::Kind::kYarn;
    understood.insert(understood.end(), {"factor", "attention_factor", "beta_fast", "beta_slow",
                                         "original_max_position_embeddings"});
  } else if (type != "default") {
    kit::fail(QUENCH_UNSUPPORTED,
              "config: rope_scaling: rope_type %.60s, wanted default, linear, llama3 or yarn",
              type.c_str());
  }
  for (const std::string& object : objects) {
    refuse_unknown_keys(config, object, understood);
  }
  rope.theta = theta_of(config, objects, usual_theta);
  if (rope.kind != RopeSettings::Kind::kPlain) {
    rope.factor = number_of(config, objects, "factor", 1.0);
  }
  if (rope.kind == RopeSettings::Kind::kYarn) {
    read_yarn(config, objects, rope);
  }
  if (rope.kind == RopeSettings::Kind::kLlama3) {
    rope.low = number_of(config, objects, "low_freq_factor", 1e-6);
    rope.high = number_of(config, objects, "high_freq_factor", 1e-6);
    rope.original = number_of(config, objects, "original_max_position_embeddings", 1.0);
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
  const auto ramp = rope.kind == RopeSettings::Kind::kYarn
                        ? std::make_optional<YarnRamp>(rope, dims)
                        : std::nullopt;
  for (int64_t i = 0; i < made.numel(); ++i) {
    if (ramp) {
      const float kept = 1.0F - ramp->at(i);
      values[i] = values[i] / static_cast<float>(rope.factor) * (1.0F - kept) + values[i] * kept;
    } else if (rope.kind == RopeSettings::Kind::kLlama3) {
      values[i] = llama3_frequency(values[i], rope);
    } else {
      values[i] /= static_cast<float>(rope.factor);
    }
  }
  return made;
}

}  // namespace quench::decoder
