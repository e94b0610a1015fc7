// One metric on a model as it is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"
#include "core/corpora/corpora.hpp"
#include "core/experiment/experiment.hpp"
#include "core/pass/score.hpp"
#include "core/plugin/model_handle.hpp"
#include "core/store/record.hpp"

namespace quench {

// Further weights that a metric is shown (quench_weights).
struct MetricWeights {
  std::string name;
  std::string branch;
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;
  std::shared_ptr<const TensorSource> source;
};

// One record per value, with metric, label, value, unit, direction, standard error, details, items,
// index and count, seconds and peak memory; what was measured is for the caller to say. Throws
// Error when the metric fails, gives no value or one that is not finite, and then says which weight
// is not. `cache`: answers what it
// can, and notes the rest; null: everything is scored.
std::vector<Record> evaluate_metric(Catalog& catalog, Corpora& corpora, const MetricCell& metric,
                                    ModelHandle& model, TokenizerChoice& tokenizer,
                                    const std::vector<MetricWeights>& weights = {},
                                    ScoreCache* cache = nullptr);

// The value of a record such that less is better, for schemes that search.
double lower_is_better(const Record& record);

}  // namespace quench
