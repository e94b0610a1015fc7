// Evaluates one metric on the current model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/pass/metric_instances.hpp"
#include "core/pass/score.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "core/store/record.hpp"

namespace quench {

// Further weights for a metric (quench_weights).
struct MetricWeights {
  std::string name;
  std::string branch;
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;
  std::shared_ptr<const TensorSource> source;
};

// Returns one record per value, with metric, label, value, unit, direction, standard error,
// details, items, index and count, seconds and peak memory; the caller adds what was measured.
// Throws Error if the metric fails, or returns no value or one that is not finite, and then names
// the weight that is not finite. `cache`: answers what it can and notes the rest; null: scores
// everything. An instance that failed is not used again.
std::vector<Record> evaluate_metric(MetricInstances& metrics, Corpora& corpora,
                                    const MetricCell& metric, ModelHandle& model,
                                    TokenizerChoice& tokenizer,
                                    const std::vector<MetricWeights>& weights = {},
                                    ScoreCache* cache = nullptr);

// The value of a record with its sign set so that lower is better, for schemes that search.
double lower_is_better(const Record& record);

// Scores a set of weights by a metric, for schemes that search by a score.
class AverageScore {
 public:
  // Opens every set of weights with this config (`where`: its path, for messages).
  AverageScore(Catalog& catalog, MetricCell metric, TokenizerChoice tokenizer,
               std::string config_json, std::string where, quench_device device);

  // The metric's first value, in float32, with the sign turned if needed so that lower is better.
  // Throws Error, NUMERICAL for a value that is not finite.
  double operator()(const std::shared_ptr<const TensorSource>& weights);

 private:
  Catalog& catalog_;
  MetricCell metric_;
  MetricInstances metrics_;
  TokenizerChoice tokenizer_;
  std::string config_json_;
  std::string where_;
  quench_device device_;
  Corpora corpora_;
};

}  // namespace quench
