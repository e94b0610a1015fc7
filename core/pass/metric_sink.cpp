#include "core/pass/metric_sink.hpp"

#include <cmath>
#include <cstring>

#include "core/base/json/json_number.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kMaxText = 4096;
// Values and details of a metric take some thousand bytes, its items 8 for each question of a task.
constexpr uint64_t kMostHeld = uint64_t{256} << 20;

MetricSink& self(void* context) {
  return *static_cast<MetricSink*>(context);
}

// A plugin's text in the form that records can hold.
std::string text_of(const char* text) {
  return printable(text, kMaxText);
}

quench_status take_value(void* context, const char* name, double value, const char* unit,
                         int32_t direction, double standard_error, quench_error* error) noexcept {
  return guarded(error, [&] {
    self(context).room.take(name, std::strlen(unit));
    self(context).values.push_back(
        {text_of(name), value, text_of(unit), direction, standard_error});
  });
}

quench_status take_detail(void* context, const char* name, double value,
                          quench_error* error) noexcept {
  return guarded(error, [&] {
    self(context).room.take(name, sizeof value);
    nlohmann::json& detail = self(context).details[text_of(name)];
    // Writes counts as integers: 57150, not 57150.0.
    if (std::fabs(value) < 9e15 && value == std::floor(value)) {
      detail = static_cast<int64_t>(value);
    } else {
      detail = json_number(value);
    }
  });
}

// Keeps the first items that a metric gives.
quench_status take_items(void* context, const char* name, const double* given, uint64_t count,
                         quench_error* error) noexcept {
  return guarded(error, [&] {
    MetricSink& sink = self(context);
    if (sink.items.empty()) {
      sink.room.take(name, count * sizeof *given);
      sink.items.assign(given, given + count);
    }
  });
}

quench_status take_json(void* context, const char* name, const char* text, uint64_t bytes,
                        quench_error* error) noexcept {
  return guarded(error, [&] {
    self(context).room.take(name, bytes);
    self(context).details[text_of(name)] = parse_json({text, bytes}, text_of(name));
  });
}

}  // namespace

MetricSink::MetricSink() : room("results of one metric", kMostHeld) {
  sink_.struct_size = sizeof sink_;
  sink_.context = this;
  sink_.value = take_value;
  sink_.detail = take_detail;
  sink_.items = take_items;
  sink_.json = take_json;
}

}  // namespace quench
