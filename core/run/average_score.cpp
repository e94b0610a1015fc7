#include "core/run/average_score.hpp"

#include <cmath>
#include <utility>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/plugin/metric_handle.hpp"
#include "core/run/metric_sink.hpp"
#include "core/run/open_checkpoint.hpp"
#include "core/run/score.hpp"

namespace quench {

AverageScore::AverageScore(Catalog& catalog, MetricCell metric, TokenizerChoice tokenizer,
                           std::string config_json, std::string where, quench_device device)
    : catalog_(catalog),
      metric_(std::move(metric)),
      tokenizer_(std::move(tokenizer)),
      config_json_(std::move(config_json)),
      where_(std::move(where)),
      device_(device),
      corpora_(catalog) {}

double AverageScore::operator()(const std::shared_ptr<const TensorSource>& weights) {
  std::vector<std::shared_ptr<const TokenizedCorpus>> held;
  std::vector<quench_tokens> views;
  for (const auto& [parameter, use] : metric_.corpora) {
    held.push_back(corpora_.load(use, tokenizer_));
    views.push_back(tokens_view(parameter.c_str(), *held.back()));
  }
  ModelHandle model = open_model(catalog_, weights, config_json_, where_, kFloat32, device_);
  MetricHandle handle(catalog_, *metric_.plugin, metric_.parameters);
  const Subject subject(model);
  MetricSink sink;
  handle.evaluate({sizeof(quench_evaluate_args), 0, &subject.subject(),
                   static_cast<uint32_t>(views.size()), views.data(), sink.get()});
  if (sink.values.empty() || !std::isfinite(sink.values[0].value)) {
    fail(QUENCH_NUMERICAL, "metric {}: gave no finite value for {}", metric_.plugin->id,
         weights->description());
  }
  const MetricSink::Value& value = sink.values[0];
  return value.direction == QUENCH_LOWER_IS_BETTER ? value.value : -value.value;
}

}  // namespace quench
