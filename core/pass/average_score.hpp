// Scores a set of weights by a metric, for schemes that search by a score.
#pragma once

#include <memory>
#include <string>

#include "core/checkpoint/tensor_source.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/pass/metric_instances.hpp"

namespace quench {

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
