// JSON out of numbers, for the details of a record.
#pragma once

#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quench::curvature {

// Reads back equal; null for what is no number.
inline std::string json_number(double value) {
  if (!std::isfinite(value)) {
    return "null";
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

inline std::string json_list(std::span<const double> values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    text += (i == 0 ? "" : ",") + json_number(values[i]);
  }
  return text + "]";
}

// Members whose values are JSON already; keys are names of tensors or words of ours.
class JsonObject {
 public:
  JsonObject& add(const std::string& key, const std::string& json) {
    text_ += (text_.empty() ? "\"" : ",\"") + key + "\":" + json;
    return *this;
  }
  JsonObject& add(const std::string& key, double value) { return add(key, json_number(value)); }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace quench::curvature
