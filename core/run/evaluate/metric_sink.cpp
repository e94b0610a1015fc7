#include "core/run/evaluate/metric_sink.hpp"

#include <cmath>

#include "core/error.hpp"
#include "core/json/json_number.hpp"
#include "core/json/parse_json.hpp"

namespace quench {

namespace {

MetricSink& self(void* context) {
  return *static_cast<MetricSink*>(context);
}

quench_status take_json(void* context, const char* name, const char* text, uint64_t bytes,
                        quench_error* error) noexcept {
  return guarded(error, [&] { self(context).details[name] = parse_json({text, bytes}, name); });
}

}  // namespace

MetricSink::MetricSink() {
  sink_.struct_size = sizeof sink_;
  sink_.context = this;
  sink_.value = [](void* context, const char* name, double value, const char* unit,
                   int32_t direction, double standard_error,
                   quench_error*) noexcept -> quench_status {
    self(context).values.push_back({name, value, unit, direction, standard_error});
    return QUENCH_OK;
  };
  sink_.detail = [](void* context, const char* name, double value,
                    quench_error*) noexcept -> quench_status {
    // Counts stay counts: 57150, not 57150.0.
    if (std::fabs(value) < 9e15 && value == std::floor(value)) {
      self(context).details[name] = static_cast<int64_t>(value);
    } else {
      self(context).details[name] = json_number(value);
    }
    return QUENCH_OK;
  };
  sink_.items = [](void* context, const char*, const double* given, uint64_t count,
                   quench_error*) noexcept -> quench_status {
    MetricSink& sink = self(context);
    if (sink.items.empty()) {
      sink.items.assign(given, given + count);
    }
    return QUENCH_OK;
  };
  sink_.json = take_json;
}

}  // namespace quench
