#include "core/pass/average_score.hpp"

#include "core/checkpoint/dtype.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/pass/evaluate.hpp"

namespace quench {

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
