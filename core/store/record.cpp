#include "core/store/record.hpp"

#include <fmt/format.h>
#include <algorithm>

#include <cmath>
#include <optional>

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

namespace {

// The standard error of the mean difference of paired items (the spread between items cancels), or
// nothing.
std::optional<double> paired_error(const Record& floating, const Record& quantized) {
  const size_t n = floating.items.size();
  if (n < 2 || quantized.items.size() != n) {
    return std::nullopt;
  }
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
  return std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
}

// What a quantized value q says against the float model's f: difference(q, f) / scale(f), where
// `impossible` says why scale is 0.
Record compared(const std::string& name, const Record& floating, const Record& quantized,
                double (*value)(double f, double q), double (*scale)(double f),
                const char* impossible) {
  Record out = quantized;
  out.metric = name;
  set_derived_key(out, out.metric, {floating.key, quantized.key});
  out.unit.assign(1, '1');  // = "1" would wake a false warning of GCC 12
  out.direction = -1;
  out.value = nullptr;
  out.standard_error = nullptr;
  out.details = nlohmann::json::object();
  out.items.clear();
  out.seconds = 0;
  if (!floating.error.empty() || !quantized.error.empty()) {
    out.error =
        fmt::format("{}: {}", name, floating.error.empty() ? quantized.error : floating.error);
    return out;
  }
  const double f = floating.value.get<double>();
  const double q = quantized.value.get<double>();
  if (scale(f) == 0) {
    out.error = fmt::format("{}: {}", name, impossible);
    return out;
  }
  out.value = value(f, q);
  out.details = {{"metric", quantized.metric}, {"float", f}, {"quantized", q}, {"delta", q - f}};
  if (const std::optional<double> error = paired_error(floating, quantized)) {
    out.details["delta_stderr"] = *error;
    out.details["items"] = floating.items.size();
    out.standard_error = *error / scale(f);  // the float value taken as given
  }
  return out;
}

}  // namespace

Record quantization_error(const Record& floating, const Record& quantized) {
  return compared(
      "quantization_error", floating, quantized, [](double f, double q) { return q / f - 1; },
      [](double f) { return f; }, "the float loss is 0, so that no ratio to it exists");
}

Record relative_accuracy_drop(const Record& floating, const Record& quantized) {
  return compared(
      "relative_accuracy_drop", floating, quantized,
      [](double f, double q) { return (f - q) / (1 - f); }, [](double f) { return 1 - f; },
      "the float model errs nowhere, so that no ratio to its errors exists");
}

}  // namespace quench
