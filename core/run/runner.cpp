#include "core/run/runner.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "core/error.hpp"
#include "core/json/json_number.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/metric_handle.hpp"
#include "core/plugin/quantizer_handle.hpp"
#include "core/run/check_experiment.hpp"
#include "core/run/corpora.hpp"
#include "core/run/judge.hpp"
#include "core/run/metric_sink.hpp"
#include "core/run/open_checkpoint.hpp"
#include "core/run/quantize_model.hpp"
#include "core/run/score.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxName = 4096;  // bytes of a path or revision in a record

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// For values where NaN means that there is none.
nlohmann::json number_or_null(double value) {
  return std::isnan(value) ? nlohmann::json(nullptr) : json_number(value);
}

nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

// A loss in nats per token that is better when lower: what ΔQL is defined for.
bool is_loss(const Record& record) {
  return record.unit == "nats/token" && record.direction == QUENCH_LOWER_IS_BETTER &&
         record.metric.find('/') == std::string::npos;
}

nlohmann::json layer_json(const LayerResult& layer) {
  nlohmann::json out = {{"name", layer.name},
                        {"relative_error", number_or_null(layer.relative_error)}};
  for (const auto& [name, value] : layer.numbers) {
    out[name] = json_number(value);
  }
  for (const auto& [name, value] : layer.texts) {
    out[name] = value;
  }
  return out;
}

class Runner {
 public:
  Runner(Catalog& catalog, const Experiment& experiment, const RunnerOptions& options)
      : catalog_(catalog), experiment_(experiment), options_(options), corpora_(catalog) {}

  std::vector<Record> run() {
    check_experiment(catalog_, experiment_);
    if (options_.on_start) {
      options_.on_start();
    }
    for (const CheckpointCell& cell : experiment_.checkpoints) {
      run_checkpoint(cell);
    }
    return std::move(records_);
  }

 private:
  // Passes the failure of a cell on where it ends the run: a stop was requested (whatever a plugin
  // made of it), a record could not be kept, or the caller wants it so.
  void throw_if_final(const Error& error) const {
    if (HostServices::instance().cancel_flag()) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    if (lost_record_ || options_.fail_fast) {
      throw error;
    }
  }

  void say(const std::string& what) const {
    if (options_.on_step) {
      options_.on_step(what);
    }
  }

  Record& add(Record record) {
    records_.push_back(std::move(record));
    if (options_.on_record) {
      lost_record_ = true;
      options_.on_record(records_.back());
      lost_record_ = false;
    }
    return records_.back();
  }

  Record blank(const CheckpointCell& cell) const {
    Record record;
    record.checkpoint = {{"model", printable(cell.model, kMaxName)},
                         {"revision", text_or_null(printable(cell.revision, kMaxName))},
                         {"commit", text_or_null(commit_)},
                         {"step", cell.step ? nlohmann::json(*cell.step) : nlohmann::json()},
                         {"tokens", cell.tokens ? nlohmann::json(*cell.tokens) : nlohmann::json()}};
    record.environment = {{"quench", kVersion},
                          {"family", text_or_null(family_)},
                          {"dtype", dtype_text(experiment_.dtype)},
                          {"device", device_text(experiment_.device)},
                          {"seed", experiment_.seed},
                          {"threads", HostServices::instance().threads()}};
    return record;
  }

  // A failed cell: every metric of it becomes a record with the error.
  void add_failures(const CheckpointCell& cell, const nlohmann::json& quantizer,
                    const Error& error) {
    throw_if_final(error);
    for (const MetricCell& metric : experiment_.metrics) {
      Record record = blank(cell);
      record.quantizer = quantizer;
      record.metric = metric.plugin->id;
      record.error = error.what();
      add(std::move(record));
    }
  }

  void run_checkpoint(const CheckpointCell& cell) {
    const std::string name = cell.revision.empty() ? cell.model : cell.revision;
    say(name);
    commit_.clear();
    family_.clear();
    std::optional<OpenCheckpoint> checkpoint;
    try {
      checkpoint.emplace(
          open_checkpoint(catalog_, cell, options_.hub, experiment_.dtype, experiment_.device));
    } catch (const Error& error) {
      add_failures(cell, nullptr, error);
      for (const QuantizerCell& quantizer : experiment_.quantizers) {
        add_failures(cell, describe(quantizer), error);
      }
      return;
    }
    commit_ = checkpoint->commit;
    family_ = checkpoint->model.id();
    TokenizerChoice tokenizer = choose_tokenizer(checkpoint->folder);
    check_calibrations(checkpoint->model, tokenizer);
    std::vector<Record> floating = measure(cell, checkpoint->model, tokenizer, nullptr, nullptr);
    for (const QuantizerCell& quantizer : experiment_.quantizers) {
      say(name + ", " + quantizer.label);
      run_quantizer(cell, checkpoint->model, tokenizer, quantizer, floating);
    }
  }

  // Where the first failure ends the run, it should not have to wait for the float model.
  void check_calibrations(ModelHandle& model, TokenizerChoice& tokenizer) {
    for (const QuantizerCell& cell : experiment_.quantizers) {
      if (options_.fail_fast && cell.calibration) {
        calibration_rows(*cell.calibration, model, tokenizer);
      }
    }
  }

  CalibrationRows calibration_rows(const Calibration& calibration, ModelHandle& model,
                                   TokenizerChoice& tokenizer) {
    return corpora_.calibration_rows(calibration, tokenizer,
                                     static_cast<uint64_t>(model.info().max_positions));
  }

  TokenizerChoice choose_tokenizer(const CheckpointFolder& folder) const {
    if (!experiment_.tokenizer.empty()) {
      return TokenizerChoice(experiment_.tokenizer, "");
    }
    std::optional<std::string> path;
    if (folder.tokenizer) {
      path = folder.tokenizer->string();
    }
    return TokenizerChoice(
        path, fmt::format("{}: has no tokenizer.json, and text is to be tokenized; name "
                          "a tokenizer, or give token ids",
                          folder.path.string()));
  }

  static nlohmann::json describe(const QuantizerCell& cell) {
    return {{"id", cell.plugin->id},
            {"params", cell.parameters},
            {"label", cell.label},
            {"version", cell.plugin->version},
            {"sha256", cell.plugin->sha256}};
  }

  // Applies one quantizer, measures, restores. The model is float again afterwards, whatever
  // happens.
  void run_quantizer(const CheckpointCell& cell, ModelHandle& model, TokenizerChoice& tokenizer,
                     const QuantizerCell& quantizer, const std::vector<Record>& floating) {
    nlohmann::json description = describe(quantizer);
    FloatWeights kept(model);
    try {
      const Clock::time_point start = Clock::now();
      const QuantizationResult result = apply(model, tokenizer, quantizer, kept);
      description["bits_per_weight"] = result.bits_per_weight;
      nlohmann::json extra = pass_details(result, quantizer, seconds_since(start));
      const std::vector<Record> quantized = measure(cell, model, tokenizer, description, &extra);
      for (size_t i = 0; i < quantized.size(); ++i) {
        if (i < floating.size() && is_loss(quantized[i])) {
          add(quantization_error(floating[i], quantized[i]));
        }
      }
    } catch (const Error& error) {
      kept.restore();
      add_failures(cell, description, error);
      return;
    }
    kept.restore();
  }

  QuantizationResult apply(ModelHandle& model, TokenizerChoice& tokenizer,
                           const QuantizerCell& cell, FloatWeights& kept) {
    QuantizerHandle quantizer(catalog_, *cell.plugin, cell.parameters);
    QuantizeOptions options;
    CalibrationRows rows;
    if (cell.calibration) {
      rows = calibration_rows(*cell.calibration, model, tokenizer);
      options.calibration = &rows;
      options.judge = judge();
    }
    return quantize_model(model, quantizer, options, kept);
  }

  QuantizerHandle* judge() {
    if (!judge_searched_) {
      judge_searched_ = true;
      if (std::optional<QuantizerHandle> found = find_judge(catalog_)) {
        judge_.emplace(std::move(*found));
      }
    }
    return judge_ ? &*judge_ : nullptr;
  }

  nlohmann::json pass_details(const QuantizationResult& result, const QuantizerCell& cell,
                              double seconds) const {
    nlohmann::json layers = nlohmann::json::array();
    for (const LayerResult& layer : result.layers) {
      layers.push_back(layer_json(layer));
    }
    nlohmann::json extra = {{"layers", layers}, {"quantize_seconds", seconds}};
    if (cell.calibration) {
      extra["calibration"] = {{"name", cell.calibration->name},
                              {"tokens", result.calibration_tokens},
                              {"stage_tokens", result.stage_tokens},
                              {"observed_groups", result.observed_groups}};
    }
    return extra;
  }

  // Runs all metrics on the model as it is; one record per value. Records are kept and returned.
  std::vector<Record> measure(const CheckpointCell& cell, ModelHandle& model,
                              TokenizerChoice& tokenizer, const nlohmann::json& quantizer,
                              const nlohmann::json* extra) {
    std::vector<Record> out;
    for (const MetricCell& metric : experiment_.metrics) {
      Record record = blank(cell);
      record.quantizer = quantizer;
      record.metric = metric.plugin->id;
      try {
        measure_one(metric, model, tokenizer, extra, record, out);
      } catch (const Error& error) {
        throw_if_final(error);
        record.error = error.what();
        out.push_back(add(record));
      }
    }
    return out;
  }

  void measure_one(const MetricCell& metric, ModelHandle& model, TokenizerChoice& tokenizer,
                   const nlohmann::json* extra, const Record& base, std::vector<Record>& out) {
    const Clock::time_point start = Clock::now();
    std::vector<std::shared_ptr<const TokenizedCorpus>> held;
    std::vector<quench_tokens> views;
    nlohmann::json corpora = nlohmann::json::object();
    for (const auto& [parameter, use] : metric.corpora) {
      held.push_back(corpora_.load(use, tokenizer));
      views.push_back(tokens_view(parameter.c_str(), *held.back()));
      corpora[parameter] = {{"name", use.name}, {"fingerprint", held.back()->fingerprint}};
    }
    MetricHandle handle(catalog_, *metric.plugin, metric.parameters);
    const Subject subject(model);
    MetricSink sink;
    handle.evaluate({sizeof(quench_evaluate_args), 0, &subject.subject(),
                     static_cast<uint32_t>(views.size()), views.data(), sink.get()});
    if (sink.values.empty()) {
      fail(QUENCH_INTERNAL, "metric {}: gave no value", metric.plugin->id);
    }
    for (size_t i = 0; i < sink.values.size(); ++i) {
      const MetricSink::Value& value = sink.values[i];
      if (!std::isfinite(value.value)) {
        fail(QUENCH_NUMERICAL, "metric {}: {} is not finite", metric.plugin->id, value.name);
      }
      Record record = base;
      if (i > 0) {
        record.metric += "/" + value.name;
      }
      record.value = value.value;
      record.unit = value.unit;
      record.direction = value.direction;
      record.standard_error = number_or_null(value.standard_error);
      record.seconds = seconds_since(start);
      record.environment["peak_memory_bytes"] = peak_memory_bytes();
      if (i == 0) {
        record.details = sink.details;
        record.details["params"] = metric.parameters;
        record.details["corpora"] = corpora;
        if (extra != nullptr) {
          record.details.update(*extra);
        }
        record.items = sink.items;
      }
      out.push_back(add(std::move(record)));
    }
  }

  static int64_t peak_memory_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
  }

  Catalog& catalog_;
  const Experiment& experiment_;
  const RunnerOptions& options_;
  Corpora corpora_;
  std::optional<QuantizerHandle> judge_;
  bool judge_searched_ = false;
  bool lost_record_ = false;  // on_record threw
  std::string commit_;
  std::string family_;
  std::vector<Record> records_;
};

}  // namespace

std::vector<Record> run_experiment(Catalog& catalog, const Experiment& experiment,
                                   const RunnerOptions& options) {
  HostServices::instance().set_seed(experiment.seed);
  return Runner(catalog, experiment, options).run();
}

}  // namespace quench
