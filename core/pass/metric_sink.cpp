#include "core/pass/metric_sink.hpp"

#include <cmath>
#include <cstring>

#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kMaxText = 4096;
// Values and details of a metric take some thousand bytes, its items 8 for each question of a task.
constexpr uint64_t kMostHeld = uint64_t{256} << 20;

// A plugin's text in the form that records can hold.
std::string text_of(const char* text) {
  return printable(text, kMaxText);
}

}  // namespace

void MetricSink::take_value(const char* name, double value, const char* unit, int32_t direction,
                            double standard_error) {
  room.take(name, std::strlen(unit));
  values.push_back({text_of(name), value, text_of(unit), direction, standard_error});
}

void MetricSink::take_detail(const char* name, double value) {
  room.take(name, sizeof value);
  // Writes counts as integers: 57150, not 57150.0.
  const bool is_count = std::fabs(value) < 9e15 && value == std::floor(value);
  details[text_of(name)] =
      is_count ? nlohmann::json(static_cast<int64_t>(value)) : json_number(value);
}

void MetricSink::take_items(const char* name, const double* given, uint64_t count) {
  if (items.empty()) {
    room.take(name, count * sizeof *given);
    items.assign(given, given + count);
  }
}

void MetricSink::take_json(const char* name, const char* text, uint64_t bytes) {
  room.take(name, bytes);
  details[text_of(name)] = parse_json({text, bytes}, text_of(name));
}

MetricSink::MetricSink()
    : room("results of one metric", kMostHeld),
      sink_{sizeof sink_,
            this,
            Called<&MetricSink::take_value>::call,
            Called<&MetricSink::take_detail>::call,
            Called<&MetricSink::take_items>::call,
            Called<&MetricSink::take_json>::call} {}

}  // namespace quench
