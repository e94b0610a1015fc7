// JSON text from numbers, for the details of a record.
#pragma once

#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quench::curvature {

// Text that parses to the same value; null for NaN and infinities.
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

// Collects members whose values are JSON text. Keys are tensor names or words of this program.
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
