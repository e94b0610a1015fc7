// A metric that reads data with fields; see `wants` and `take` in abi/kind/metric.h.
#pragma once

#include <string>
#include <string_view>

#include "quench/kit/metric.hpp"

namespace quench::kit {

// What the host offers while a metric names the data it wants.
class RecordHost {
 public:
  explicit RecordHost(const quench_record_host& host) : host_(host) {}

  // Throws NOT_FOUND that says what is missing.
  std::string locate(const std::string& location) const {
    const char* path = nullptr;
    quench_error error{sizeof error, 0, {}};
    check(host_.locate(host_.context, location.c_str(), &path, &error), error);
    return path;
  }
  Json yaml_file(const std::string& path) const {
    const char* json = nullptr;
    uint64_t bytes = 0;
    quench_error error{sizeof error, 0, {}};
    check(host_.yaml_file(host_.context, path.c_str(), &json, &bytes, &error), error);
    return {json, bytes};
  }
  Json yaml_text(std::string_view text, const std::string& name) const {
    const char* json = nullptr;
    uint64_t bytes = 0;
    quench_error error{sizeof error, 0, {}};
    check(host_.yaml_text(host_.context, text.data(), text.size(), name.c_str(), &json, &bytes,
                          &error),
          error);
    return {json, bytes};
  }
  // A data set's number is the number of earlier calls.
  void want(const std::string& name, const std::string& corpus,
            const std::string& parameters_json) const {
    quench_error error{sizeof error, 0, {}};
    check(host_.want(host_.context, name.c_str(), corpus.c_str(), parameters_json.c_str(), &error),
          error);
  }
  void want_file(const std::string& path) const {
    quench_error error{sizeof error, 0, {}};
    check(host_.want_file(host_.context, path.c_str(), &error), error);
  }

 private:
  const quench_record_host& host_;
};

class RecordMetric : public Metric {
 public:
  virtual void wants(const RecordHost& host) = 0;
  // False: the metric wants no more of this data set.
  virtual bool take(uint32_t data_set, std::string_view record) = 0;

  static void add_functions(quench_metric_table& table) {
    table.wants = wants_of;
    table.take = take_of;
  }

 private:
  static RecordMetric& self(quench_metric* metric) {
    return static_cast<RecordMetric&>(*reinterpret_cast<Metric*>(metric));
  }
  static quench_status wants_of(quench_metric* metric, const quench_record_host* host,
                                quench_error* error) noexcept {
    return guard(error, [&] { self(metric).wants(RecordHost(*host)); });
  }
  static quench_status take_of(quench_metric* metric, uint32_t data_set, const char* record,
                               uint64_t bytes, quench_error* error) noexcept {
    bool more = true;
    const quench_status status = guard(error, [&] {
      more = self(metric).take(data_set, {record, bytes});
    });
    return status == QUENCH_OK && !more ? QUENCH_END : status;
  }
};

}  // namespace quench::kit
