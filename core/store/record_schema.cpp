#include "core/store/record_schema.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace quench {

namespace {

using nlohmann::json;

constexpr RecordField kFields[] = {
    {"averaging", FieldType::kObjectOrNull, true},
    {"cached", FieldType::kTextOrNull, false},
    {"checkpoint", FieldType::kObjectOrNull, true},
    {"count", FieldType::kCount, true},
    {"details", FieldType::kObject, true},
    {"direction", FieldType::kInteger, true},
    {"draw", FieldType::kCountOrNull, true},
    {"environment", FieldType::kObjectOrNull, true},
    {"error", FieldType::kTextOrNull, true},
    {"index", FieldType::kCount, true},
    {"items", FieldType::kNumbers, true},
    {"jitter", FieldType::kCountOrNull, true},
    {"job", FieldType::kCount, true},
    {"key", FieldType::kText, true},
    {"label", FieldType::kText, true},
    {"metric", FieldType::kText, true},
    {"parts", FieldType::kObjectOrNull, true},
    {"quantizer", FieldType::kObjectOrNull, true},
    {"schema", FieldType::kInteger, true},
    {"seconds", FieldType::kNumber, false},
    {"stderr", FieldType::kNumberOrNull, true},
    {"unit", FieldType::kText, true},
    {"value", FieldType::kNumberOrNull, true},
};

constexpr std::string_view kNotCompared[] = {
    "attempt",     "cached",  "family_interpreter", "family_process", "fused_tokens",
    "interpreter", "log",     "metric_interpreter", "metric_process", "peak_memory_bytes",
    "process",     "seconds", "stored_bytes",       "threads",        "warnings"};

// What records say of what was measured.
json said_by(const std::vector<Record>& records) {
  json out = json::array();
  for (const Record& record : records) {
    json one = {{"value", record.value},
                {"stderr", record.standard_error},
                {"details", record.details},
                {"items", record.items}};
    strip_not_compared(one["details"]);
    strip_given_names(one["details"]);
    out.push_back(std::move(one));
  }
  return out;
}

// Removes from `is`, at any depth, what `was` does not name.
void keep_names_of(const json& was, json& is) {
  if (was.is_object() && is.is_object()) {
    for (auto it = is.begin(); it != is.end();) {
      const auto named = was.find(it.key());
      if (named == was.end()) {
        it = is.erase(it);
      } else {
        keep_names_of(*named, *it++);
      }
    }
  } else if (was.is_array() && is.is_array() && was.size() == is.size()) {
    for (size_t i = 0; i < was.size(); ++i) {
      keep_names_of(was[i], is[i]);
    }
  }
}

}  // namespace

std::span<const RecordField> record_fields() {
  return kFields;
}

bool is_compared(std::string_view name) {
  return !name.ends_with("_seconds") && std::find(std::begin(kNotCompared), std::end(kNotCompared),
                                                  name) == std::end(kNotCompared);
}

void strip_not_compared(json& value) {
  if (value.is_array()) {
    for (json& element : value) {
      strip_not_compared(element);
    }
  }
  if (!value.is_object()) {
    return;
  }
  for (auto it = value.begin(); it != value.end();) {
    if (!is_compared(it.key())) {
      it = value.erase(it);
      continue;
    }
    strip_not_compared(it.value());
    ++it;
  }
}

void strip_given_names(json& details) {
  if (!details.is_object()) {
    return;
  }
  const auto part = [&](const char* name) {
    const auto found = details.find(name);
    return found != details.end() && found->is_object() ? &*found : nullptr;
  };
  json* params = part("params");
  if (json* corpora = part("corpora")) {
    for (auto& [parameter, corpus] : corpora->items()) {
      if (corpus.is_object()) {
        corpus.erase("name");
      }
      if (params != nullptr) {
        params->erase(parameter);
      }
    }
  }
  if (json* calibration = part("calibration")) {
    calibration->erase("name");
  }
}

std::optional<Difference> first_disagreement(const std::vector<Record>& was,
                                             const std::vector<Record>& is) {
  json before = said_by(was);
  json now = said_by(is);
  for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    keep_names_of(before[i]["details"], now[i]["details"]);
  }
  std::vector<Difference> found =
      explain_difference({{"values", std::move(before)}}, {{"values", std::move(now)}});
  return found.empty() ? std::nullopt : std::optional(std::move(found[0]));
}

}  // namespace quench
