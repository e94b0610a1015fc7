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
    "attempt",           "cached",  "family_process", "fused_tokens", "log",    "metric_process",
    "peak_memory_bytes", "process", "seconds",        "stored_bytes", "threads"};

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
