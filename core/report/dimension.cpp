#include "core/report/dimension.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace quench {

namespace {

nlohmann::json member(const nlohmann::json& object, const std::string& key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : nlohmann::json();
}

nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

// Where no parameter says the number of bits, what is stored per weight, rounded.
nlohmann::json bits_of(const Record& record) {
  const nlohmann::json bits = member(member(record.quantizer, "params"), "bits");
  const nlohmann::json stored = member(record.quantizer, "bits_per_weight");
  if (!bits.is_number() && stored.is_number()) {
    return std::llround(stored.get<double>());
  }
  return bits;
}

constexpr const char* kOfCheckpoint[] = {"model", "branch", "revision", "phase",
                                         "mark",  "step",   "tokens",   "lr"};

}  // namespace

const std::vector<std::string>& dimension_names() {
  static const std::vector<std::string> names = {
      "branch", "checkpoint",  "model",  "revision",  "phase",     "mark",
      "step",   "tokens",      "lr",     "averaging", "quantizer", "label",
      "bits",   "calibration", "metric", "seed",      "job",       "device"};
  return names;
}

bool is_dimension(const std::string& name) {
  const auto& names = dimension_names();
  return std::find(names.begin(), names.end(), name) != names.end() ||
         (name.starts_with("params.") && name.size() > 7) ||
         (name.starts_with("averaging.") && name.size() > 10);
}

nlohmann::json dimension_value(const Record& record, const std::string& name) {
  if (std::find(std::begin(kOfCheckpoint), std::end(kOfCheckpoint), name) !=
      std::end(kOfCheckpoint)) {
    const nlohmann::json value = member(record.checkpoint, name);
    return value.is_string() && value.get_ref<const std::string&>().empty() ? nlohmann::json()
                                                                            : value;
  }
  if (name == "checkpoint") {  // the weights' place on the axes, whatever they are called
    const nlohmann::json revision = member(record.checkpoint, "revision");
    return revision.is_null() ? member(record.checkpoint, "model") : revision;
  }
  if (name == "averaging") {
    const nlohmann::json label = member(record.averaging, "label");
    return label.is_null() ? member(record.averaging, "id") : label;
  }
  if (name == "quantizer") {
    return member(record.quantizer, "id");
  }
  if (name == "label" || name == "calibration") {
    return member(record.quantizer, name);
  }
  if (name == "bits") {
    return bits_of(record);
  }
  if (name == "metric") {
    return text_or_null(record.label.empty() ? record.metric : record.label);
  }
  if (name == "seed" || name == "device") {
    return member(record.environment, name);
  }
  if (name == "job") {
    return record.job;
  }
  if (name.starts_with("params.")) {
    return member(member(record.quantizer, "params"), name.substr(7));
  }
  if (name.starts_with("averaging.")) {
    return member(member(record.averaging, "params"), name.substr(10));
  }
  fail(QUENCH_INTERNAL, "report: no dimension is called {}", printable(name));
}

std::string value_text(const nlohmann::json& value) {
  return value.is_null() ? "none" : value.is_string() ? value.get<std::string>() : value.dump();
}

std::string dimension_text(const std::string& name, const nlohmann::json& value) {
  if (name == "bits") {
    return value.is_null() ? "float" : value_text(value) + " bits";
  }
  if (name == "checkpoint" || name == "quantizer" || name == "label" || name == "metric") {
    return value_text(value);
  }
  const size_t dot = name.find('.');
  return (dot == std::string::npos ? name : name.substr(dot + 1)) + " " + value_text(value);
}

}  // namespace quench
