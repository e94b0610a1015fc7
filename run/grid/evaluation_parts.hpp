// Collects what the value of one evaluation depends on: the parts of its content key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/inputs/experiment/experiment.hpp"
#include "run/grid/identity.hpp"

namespace quench {

// The parts of the key of one evaluation; `quantizer`, draw and jitter apply to quantized models.
// Without a metric: everything that the weights depend on. Returns nothing if something needed is
// not remembered and `measure` is false; `missing` then says what ("weights of step600 not read
// yet").
struct EvaluationParts {
  const Experiment* experiment = nullptr;
  const WeightsCell* weights = nullptr;
  const QuantizerCell* quantizer = nullptr;
  uint32_t draw = 0;
  uint32_t jitter = 0;
  const MetricCell* metric = nullptr;
};
std::optional<nlohmann::json> evaluation_parts(Identities& identities, const EvaluationParts& what,
                                               bool measure, std::string& missing);

// The plugins from elsewhere that take part in it.
std::vector<ForeignUse> foreign_uses(Identities& identities, const EvaluationParts& what);

// The part of a metric: what it is, its parameters and the contents that it reads. As above.
std::optional<nlohmann::json> metric_part(Identities& identities, const Experiment& experiment,
                                          const MetricCell& metric, bool measure);

// SHA-256 of the parts as canonical JSON.
std::string content_key(const nlohmann::json& parts);

}  // namespace quench
