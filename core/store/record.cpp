#include "core/store/record.hpp"

#include "core/base/json/canonical_json.hpp"

namespace quench {

namespace {

// Replaces numbers that JSON cannot express by text, at any depth.
void spell_numbers(nlohmann::json& value) {
  if (value.is_number_float()) {
    value = json_number(value.get<double>());
  } else if (value.is_structured()) {
    for (nlohmann::json& member : value) {
      spell_numbers(member);
    }
  }
}

}  // namespace

bool has_unchecked_inputs(const Record& record) {
  const auto inputs = record.details.find(kInputsDetail);
  return inputs != record.details.end() && *inputs == kUncheckedInputs;
}

nlohmann::json to_json(const Record& record) {
  nlohmann::json out = {{"schema", kRecordSchema},
                        {"key", record.key},
                        {"parts", record.parts},
                        {"index", record.index},
                        {"count", record.count},
                        {"checkpoint", record.checkpoint},
                        {"averaging", record.averaging},
                        {"quantizer", record.quantizer},
                        {"draw", record.draw},
                        {"jitter", record.jitter},
                        {"metric", record.metric},
                        {"label", record.label},
                        {"value", record.value},
                        {"unit", record.unit},
                        {"direction", record.direction},
                        {"stderr", record.standard_error},
                        {"details", record.details},
                        {"items", record.items},
                        {"error", nullptr},
                        {"seconds", record.seconds},
                        {"job", record.job},
                        {"environment", record.environment},
                        {"cached", nullptr}};
  if (!record.error.empty()) {
    out["error"] = record.error;
  }
  if (!record.cached.empty()) {
    out["cached"] = record.cached;
  }
  spell_numbers(out);
  return out;
}

}  // namespace quench
