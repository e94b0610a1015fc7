// A metric as a C++ class. Derive Metric, end with QUENCH_MODULE.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "quench/abi/kind/metric.h"
#include "quench/kit/module.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

// Receives a metric's values; see quench_metric_sink.
class MetricSink {
 public:
  explicit MetricSink(const quench_metric_sink* sink) : sink_(sink) {}

  void value(const char* name, double value, const char* unit, int32_t direction,
             double standard_error = std::numeric_limits<double>::quiet_NaN()) {
    quench_error error{sizeof error, 0, {}};
    check(sink_->value(sink_->context, name, value, unit, direction, standard_error, &error),
          error);
  }
  void detail(const char* name, double value) {
    quench_error error{sizeof error, 0, {}};
    check(sink_->detail(sink_->context, name, value, &error), error);
  }
  void items(const char* name, std::span<const double> values) {
    quench_error error{sizeof error, 0, {}};
    check(sink_->items(sink_->context, name, values.data(), values.size(), &error), error);
  }
  void json(const char* name, std::string_view text) {
    quench_error error{sizeof error, 0, {}};
    check(sink_->json(sink_->context, name, text.data(), text.size(), &error), error);
  }

 private:
  const quench_metric_sink* sink_;
};

// The model and the data of one evaluation.
class Evaluation {
 public:
  explicit Evaluation(const quench_evaluate_args& args) : args_(args) {}

  const quench_subject& subject() const { return *args_.subject; }
  // The corpus of parameter `parameter`; throws FAILED_PRECONDITION if it is not set.
  const quench_tokens& tokens(std::string_view parameter) const {
    for (uint32_t i = 0; i < args_.tokens_count; ++i) {
      if (parameter == args_.tokens[i].parameter) {
        return args_.tokens[i];
      }
    }
    fail(QUENCH_FAILED_PRECONDITION, "no corpus is given for `%s`", std::string(parameter).c_str());
  }
  // Throws FAILED_PRECONDITION if the model has no tokenizer.
  std::span<const int32_t> encode(std::string_view text, bool special) const {
    if (args_.tokenizer == nullptr) {
      fail(QUENCH_FAILED_PRECONDITION, "the model has no tokenizer");
    }
    const int32_t* ids = nullptr;
    uint64_t count = 0;
    quench_error error{sizeof error, 0, {}};
    check(args_.tokenizer->encode(args_.tokenizer->context, text.data(), text.size(),
                                  special ? 1 : 0, &ids, &count, &error),
          error);
    return {ids, count};
  }
  // The further weights that `needs` requested.
  std::span<const quench_weights> weights() const { return {args_.weights, args_.weights_count}; }
  // The model's parameters, tied ones once.
  std::span<const quench_parameter_info> parameters() const {
    const quench_parameter_info* list = nullptr;
    uint64_t count = 0;
    quench_error error{sizeof error, 0, {}};
    check(subject().table->parameters(subject().model, &list, &count, &error), error);
    return {list, count};
  }
  // The elements of one of them in C order, as the model has them now: quantized, where it is.
  std::vector<double> weight(const quench_parameter_info& parameter) const {
    OwnedTensor<double> values({parameter.shape, parameter.shape + parameter.dimensions});
    const quench_tensor view = values.view();
    quench_error error{sizeof error, 0, {}};
    check(subject().table->weight_get(subject().model, parameter.name, &view, &error), error);
    return std::move(values.values());
  }
  // Scores sequences in one forward; see quench_score_args.
  void score(const quench_score_args& request) const {
    quench_error error{sizeof error, 0, {}};
    check(subject().score(subject().context, &request, &error), error);
  }

 private:
  const quench_evaluate_args& args_;
};

// Bytes beside a model on a device.
struct PlacedMemory {
  uint64_t device = 0;
  uint64_t host = 0;
};

class Metric {
 public:
  virtual ~Metric() = default;
  virtual void evaluate(const Evaluation& evaluation, MetricSink& sink) = 0;
  virtual uint32_t needs() const { return 0; }  // QUENCH_METRIC_NEEDS_*
  // Bytes that `evaluate` holds at its peak besides the model. A class that needs any
  // overrides this or memory_on_device.
  virtual uint64_t memory(const quench_model_table& table, const quench_model* model) const {
    const PlacedMemory placed = memory_on_device(table, model, false);
    return placed.device + placed.host;
  }
  // Where they are if the model is on a device, and its vectors are there or not.
  virtual PlacedMemory memory_on_device(const quench_model_table&, const quench_model*,
                                        bool /*vectors_there*/) const {
    return {};
  }
  // Throws INVALID_ARGUMENT for a model that `evaluate` would fail on.
  virtual void fits(const quench_model_info&) const {}
};

// Throws INVALID_ARGUMENT if sequences of `length` ids, set by `parameter`, exceed the context.
inline void check_context(const char* parameter, int64_t length, const quench_model_info& model) {
  if (length > model.max_positions) {
    const auto longest = static_cast<long long>(model.max_positions);
    fail(QUENCH_INVALID_ARGUMENT,
         "%s: got %lld ids, wanted at most %lld, the context of the model; write `%s: %lld`",
         parameter, static_cast<long long>(length), longest, parameter, longest);
  }
}

namespace detail {

template <typename Plugin>
quench_status create_metric(const char* json, uint64_t bytes, quench_metric** out,
                            quench_error* error) noexcept {
  return guard(error, [&] {
    Metric* made = new Plugin(fields_of<typename Plugin::Params>().parse(json, bytes));
    *out = reinterpret_cast<quench_metric*>(made);
  });
}
inline void destroy_metric(quench_metric* metric) noexcept {
  delete reinterpret_cast<Metric*>(metric);
}
inline quench_status evaluate_metric(quench_metric* metric, const quench_evaluate_args* args,
                                     quench_error* error) noexcept {
  return guard(error, [&] {
    MetricSink sink(args->sink);
    reinterpret_cast<Metric*>(metric)->evaluate(Evaluation(*args), sink);
  });
}
inline quench_status predict_memory(const quench_metric* metric, const quench_model_table* table,
                                    const quench_model* model, uint64_t* bytes,
                                    quench_error* error) noexcept {
  return guard(error,
               [&] { *bytes = reinterpret_cast<const Metric*>(metric)->memory(*table, model); });
}
inline quench_status predict_memory_on_device(const quench_metric* metric,
                                              const quench_model_table* table,
                                              const quench_model* model, uint32_t flags,
                                              uint64_t* device_bytes, uint64_t* host_bytes,
                                              quench_error* error) noexcept {
  return guard(error, [&] {
    const PlacedMemory placed = reinterpret_cast<const Metric*>(metric)->memory_on_device(
        *table, model, (flags & QUENCH_METRIC_VECTORS_ON_DEVICE) != 0);
    *device_bytes = placed.device;
    *host_bytes = placed.host;
  });
}
inline quench_status check_fit(const quench_metric* metric, const quench_model_table* table,
                               const quench_model* model, quench_error* error) noexcept {
  return guard(error, [&] {
    quench_model_info info{};
    info.struct_size = sizeof info;
    quench_error failure{sizeof failure, 0, {}};
    check(table->info(model, &info, &failure), failure);
    reinterpret_cast<const Metric*>(metric)->fits(info);
  });
}
inline uint32_t metric_needs(const quench_metric* metric) noexcept {
  return reinterpret_cast<const Metric*>(metric)->needs();
}

}  // namespace detail

// Makes the item of a metric class that has a nested `Params` and a constructor from it.
template <typename Plugin>
quench_item metric(const About& about) {
  static const quench_metric_table kTable = [] {
    quench_metric_table table{};
    table.struct_size = sizeof table;
    table.create = detail::create_metric<Plugin>;
    table.destroy = detail::destroy_metric;
    table.evaluate = detail::evaluate_metric;
    table.needs = detail::metric_needs;
    if (!std::is_same_v<decltype(&Plugin::fits), decltype(&Metric::fits)>) {
      table.fits = detail::check_fit;
    }
    constexpr bool kPlaces =
        !std::is_same_v<decltype(&Plugin::memory_on_device), decltype(&Metric::memory_on_device)>;
    if (kPlaces || !std::is_same_v<decltype(&Plugin::memory), decltype(&Metric::memory)>) {
      table.predict_memory = detail::predict_memory;
    }
    if (kPlaces) {
      table.predict_memory_on_device = detail::predict_memory_on_device;
    }
    detail::add_functions<Plugin>(table);
    return table;
  }();
  return make_item<typename Plugin::Params>(QUENCH_KIND_METRIC, about, &kTable);
}

}  // namespace quench::kit
