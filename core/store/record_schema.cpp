#include "core/store/record_schema.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace quench {

namespace {

using nlohmann::json;

constexpr RecordField kFields[] = {
    {"averaging", FieldType::kObjectOrNull, 2, true},
    {"cached", FieldType::kTextOrNull, 2, false},
    {"checkpoint", FieldType::kObjectOrNull, 1, true},
    {"count", FieldType::kCount, 2, true},
    {"details", FieldType::kObject, 1, true},
    {"direction", FieldType::kInteger, 1, true},
    {"draw", FieldType::kCountOrNull, 2, true},
    {"environment", FieldType::kObjectOrNull, 1, true},
    {"error", FieldType::kTextOrNull, 1, true},
    {"index", FieldType::kCount, 2, true},
    {"items", FieldType::kNumbers, 2, true},
    {"jitter", FieldType::kCountOrNull, 2, true},
    {"job", FieldType::kCount, 2, true},
    {"key", FieldType::kText, 2, true},
    {"label", FieldType::kText, 2, true},
    {"metric", FieldType::kText, 1, true},
    {"parts", FieldType::kObjectOrNull, 2, true},
    {"quantizer", FieldType::kObjectOrNull, 1, true},
    {"schema", FieldType::kInteger, 1, true},
    {"seconds", FieldType::kNumber, 1, false},
    {"stderr", FieldType::kNumberOrNull, 1, true},
    {"unit", FieldType::kText, 1, true},
    {"value", FieldType::kNumberOrNull, 1, true},
};

constexpr std::string_view kNotCompared[] = {"attempt",           "cached",       "family_process",
                                             "fused_tokens",      "log",          "metric_process",
                                             "peak_memory_bytes", "process",      "ride_tokens",
                                             "seconds",           "stored_bytes", "threads"};

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

json compared_json(const Record& record) {
  json out = to_json(record);
  json parts = std::move(out["parts"]);
  strip_not_compared(out);
  out["parts"] = std::move(parts);
  return out;
}

}  // namespace quench
