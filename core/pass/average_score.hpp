// What a metric says of a set of weights, for schemes that choose by a score.
#pragma once

#include <memory>
#include <string>

#include "core/checkpoint/tensor_source.hpp"
#include "core/corpora/corpora.hpp"

namespace quench {

class AverageScore {
 public:
  // Every set of weights is opened with this config (`where`: its path, for messages).
  AverageScore(Catalog& catalog, MetricCell metric, TokenizerChoice tokenizer,
               std::string config_json, std::string where, quench_device device);

  // The metric's first value, in float32, lower is better: the sign of others is turned. Throws
  // Error, NUMERICAL for a value that is not finite.
  double operator()(const std::shared_ptr<const TensorSource>& weights);

 private:
  Catalog& catalog_;
  MetricCell metric_;
  TokenizerChoice tokenizer_;
  std::string config_json_;
  std::string where_;
  quench_device device_;
  Corpora corpora_;
};

}  // namespace quench
