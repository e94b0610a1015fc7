#include "core/store/record.hpp"

#include <algorithm>
#include <cmath>

#include "core/io/sha256.hpp"
#include "core/json/canonical_json.hpp"
#include "core/json/json_number.hpp"

namespace quench {

namespace {

// Numbers without a form in JSON as text, at any depth.
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

void set_derived_key(Record& record, const std::string& name,
                     const std::vector<std::string>& from) {
  record.key.clear();
  record.parts = nullptr;
  record.index = 0;
  record.count = 1;
  if (std::none_of(from.begin(), from.end(), [](const auto& key) { return key.empty(); })) {
    record.parts = {{"derived", name}, {"from", from}};
    record.key = sha256_hex(canonical_json(record.parts));
  }
}

Record quantization_error(const Record& floating, const Record& quantized) {
  Record out = quantized;
  out.metric = "quantization_error";
  set_derived_key(out, out.metric, {floating.key, quantized.key});
  out.unit = "1";
  out.direction = -1;
  out.standard_error = nullptr;
  out.details = nlohmann::json::object();
  out.items.clear();
  out.seconds = 0;
  if (!floating.error.empty() || !quantized.error.empty()) {
    out.value = nullptr;
    out.error =
        "quantization_error: " + (floating.error.empty() ? quantized.error : floating.error);
    return out;
  }
  const double f = floating.value.get<double>();
  const double q = quantized.value.get<double>();
  if (f == 0) {
    out.value = nullptr;
    out.error = "quantization_error: the float loss is 0, so that no ratio to it exists";
    return out;
  }
  out.value = q / f - 1;
  out.details = {{"metric", quantized.metric}, {"float", f}, {"quantized", q}, {"delta", q - f}};
  const size_t n = floating.items.size();
  if (n > 1 && quantized.items.size() == n) {
    // Paired: the same blocks under both models, so the spread between blocks cancels.
    double mean = 0;
    for (size_t i = 0; i < n; ++i) {
      mean += quantized.items[i] - floating.items[i];
    }
    mean /= static_cast<double>(n);
    double squares = 0;
    for (size_t i = 0; i < n; ++i) {
      const double deviation = quantized.items[i] - floating.items[i] - mean;
      squares += deviation * deviation;
    }
    const double standard_error =
        std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
    out.details["delta_stderr"] = standard_error;
    out.details["items"] = n;
    out.standard_error = standard_error / f;  // the float loss taken as given
  }
  return out;
}

}  // namespace quench
