#include "core/pass/evaluate.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <optional>

#include "core/base/json/canonical_json.hpp"
#include "core/base/json/set_parameters.hpp"
#include "core/checkpoint/abi_source.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/pass/metric_sink.hpp"
#include "core/pass/not_finite.hpp"

namespace quench {

namespace {

int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

// The corpora of a metric in the form that it gets; keeps them in memory.
struct OpenCorpora {
  std::vector<std::shared_ptr<const TokenizedCorpus>> held;
  std::vector<quench_tokens> views;
  nlohmann::json description = nlohmann::json::object();
};

OpenCorpora open_corpora(Corpora& corpora, const MetricCell& metric, TokenizerChoice& tokenizer) {
  OpenCorpora out;
  for (const auto& [parameter, use] : metric.corpora) {
    out.held.push_back(corpora.load(use, tokenizer));
    out.views.push_back(tokens_view(parameter.c_str(), *out.held.back()));
    out.description[parameter] = {{"name", use.name},
                                  {"fingerprint", out.held.back()->fingerprint}};
    if (out.held.back()->skipped > 0) {
      out.description[parameter]["skipped"] = out.held.back()->skipped;
    }
  }
  return out;
}

// Further weights in the form that a metric gets.
class OpenWeightsList {
 public:
  explicit OpenWeightsList(const std::vector<MetricWeights>& weights) {
    const auto number = [](const std::optional<int64_t>& value) {
      return value ? static_cast<double>(*value) : std::nan("");
    };
    for (const MetricWeights& each : weights) {
      sources_.push_back(std::make_unique<AbiSource>(each.source));
      views_.push_back({sizeof(quench_weights), each.name.c_str(), each.branch.c_str(),
                        number(each.step), number(each.tokens), sources_.back()->get()});
    }
  }
  uint32_t count() const { return static_cast<uint32_t>(views_.size()); }
  const quench_weights* views() const { return views_.data(); }

 private:
  std::vector<std::unique_ptr<AbiSource>> sources_;
  std::vector<quench_weights> views_;
};

// The tokenizer in the form that a metric gets; keeps the ids of the last text.
class MetricTokenizer {
 public:
  explicit MetricTokenizer(Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    view_ = {sizeof view_, this, Called<&MetricTokenizer::encode>::call};
  }
  MetricTokenizer(const MetricTokenizer&) = delete;
  MetricTokenizer& operator=(const MetricTokenizer&) = delete;
  const quench_tokenizer* get() const { return &view_; }

 private:
  void encode(const char* text, uint64_t bytes, int32_t special, const int32_t** ids,
              uint64_t* count) {
    ids_ = tokenizer_.encode(std::string_view(text, bytes), special != 0);
    *ids = ids_.data();
    *count = ids_.size();
  }

  Tokenizer& tokenizer_;
  std::vector<int32_t> ids_;
  quench_tokenizer view_{};
};

}  // namespace

std::vector<Record> evaluate_metric(MetricInstances& metrics, Corpora& corpora,
                                    const MetricCell& metric, ModelHandle& model,
                                    TokenizerChoice& tokenizer,
                                    const std::vector<MetricWeights>& weights, ScoreCache* cache) {
  if (metric.dtype && !same_dtype(*metric.dtype, model.info().dtype)) {
    fail(QUENCH_UNSUPPORTED, "metric {}: wants the model in {}", metric.plugin->id,
         dtype_name(*metric.dtype));
  }
  const auto start = std::chrono::steady_clock::now();
  const OpenCorpora open = open_corpora(corpora, metric, tokenizer);
  MetricHandle& handle = metrics.ready(metric, corpora);
  const Subject subject(model, cache, handle.is_in_worker());
  const OpenWeightsList further(weights);
  MetricSink sink;
  std::optional<MetricTokenizer> encoder;
  if ((handle.needs() & QUENCH_METRIC_NEEDS_TOKENIZER) != 0) {
    try {
      encoder.emplace(tokenizer.get(metrics.catalog()));
    } catch (const Error& error) {
      fail(error.code(), "metric {}: needs a tokenizer: {}", metric.plugin->id, error.what());
    }
  }
  try {
    handle.evaluate({sizeof(quench_evaluate_args), 0, &subject.subject(),
                     static_cast<uint32_t>(open.views.size()), open.views.data(), sink.get(),
                     encoder ? encoder->get() : nullptr, further.count(), further.views()});
    sink.room.require_enough("metric " + metric.plugin->id);
  } catch (const Error& error) {
    metrics.drop(metric);
    if (error.code() != QUENCH_NUMERICAL) {
      throw;
    }
    fail(QUENCH_NUMERICAL, "{}; {}", error.what(), where_weights_break(model));
  }
  if (sink.values.empty()) {
    fail(QUENCH_INTERNAL, "metric {}: gave no value", metric.plugin->id);
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<Record> out;
  for (const MetricSink::Value& value : sink.values) {
    if (!std::isfinite(value.value)) {
      fail(QUENCH_NUMERICAL, "metric {}: {} is not finite; {}", metric.plugin->id, value.name,
           where_weights_break(model));
    }
    Record record;
    record.index = static_cast<uint32_t>(out.size());
    record.count = static_cast<uint32_t>(sink.values.size());
    record.metric = metric.plugin->id + (out.empty() ? "" : "/" + value.name);
    record.label = metric.label;
    record.value = value.value;
    record.unit = value.unit;
    record.direction = value.direction;
    record.standard_error = std::isnan(value.standard_error) ? nlohmann::json(nullptr)
                                                             : json_number(value.standard_error);
    record.seconds = seconds;
    record.environment["peak_memory_bytes"] = peak_memory_bytes();
    out.push_back(std::move(record));
  }
  out.front().details = sink.details;
  out.front().details["params"] = set_parameters(metric.parameters);
  out.front().details["corpora"] = open.description;
  for (const CorpusUse& use : metrics.wanted(metric, corpora.hub()).data_sets) {
    if (const uint64_t skipped = corpora.skipped(use.name); skipped > 0) {
      out.front().details["skipped"][use.name] = skipped;
    }
  }
  out.front().items = sink.items;
  return out;
}

double lower_is_better(const Record& record) {
  const double value = record.value.get<double>();
  return record.direction == QUENCH_LOWER_IS_BETTER ? value : -value;
}

AverageScore::AverageScore(Catalog& catalog, MetricCell metric, TokenizerChoice tokenizer,
                           std::string config_json, std::string where, quench_device device)
    : catalog_(catalog),
      metric_(std::move(metric)),
      metrics_(catalog),
      tokenizer_(std::move(tokenizer)),
      config_json_(std::move(config_json)),
      where_(std::move(where)),
      device_(device),
      corpora_(catalog) {}

double AverageScore::operator()(const std::shared_ptr<const TensorSource>& weights) {
  ModelHandle model = open_model(catalog_, weights, config_json_, where_, "", kFloat32, device_);
  return lower_is_better(evaluate_metric(metrics_, corpora_, metric_, model, tokenizer_).front());
}

}  // namespace quench
