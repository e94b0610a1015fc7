#include "run/grid/grid.hpp"

#include <catch2/catch.hpp>

#include "quench/abi/kind/metric.h"

namespace {

// Branches a (3 checkpoints) and b (2), an average at the end of a, one quantizer, one metric with
// the given needs; by checkpoint, averaged or not, quantized or not: "a2", "a2~", "a2 q".
std::vector<std::string> cells_with(uint32_t needs, bool of_float = true,
                                    bool of_quantized = true) {
  quench::Experiment experiment;
  for (const char* name : {"a0", "a1", "a2", "b0", "b1"}) {
    quench::CheckpointCell cell;
    cell.revision = name;
    cell.branch = std::string(1, name[0]);
    experiment.checkpoints.push_back(cell);
    experiment.weights.push_back({experiment.checkpoints.size() - 1, std::nullopt, {}});
  }
  experiment.averagings.resize(1);
  experiment.weights.push_back({2, 0, {0, 1, 2}});
  experiment.quantizers.resize(1);
  experiment.metrics.resize(1);
  experiment.metrics[0].needs = needs;
  experiment.metrics[0].scope.of_float = of_float;
  experiment.metrics[0].scope.of_quantized = of_quantized;
  std::vector<std::string> out;
  for (const quench::Cell& cell : quench::cells_of({experiment})) {
    const quench::WeightsCell& weights = experiment.weights[cell.weights];
    out.push_back(experiment.checkpoints[weights.checkpoint].revision +
                  (weights.averaging ? "~" : "") + (cell.variant.quantizer ? " q" : ""));
  }
  return out;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("A metric without needs measures every variant of every set of weights", "[grid]") {
  CHECK(cells_with(0) == Names{"a0", "a0 q", "a1", "a1 q", "a2", "a2 q", "b0", "b0 q", "b1", "b1 q",
                               "a2~", "a2~ q"});
}

TEST_CASE("A metric that needs the float weights measures quantized variants alone", "[grid]") {
  CHECK(cells_with(QUENCH_METRIC_NEEDS_FLOAT) ==
        Names{"a0 q", "a1 q", "a2 q", "b0 q", "b1 q", "a2~ q"});
}

TEST_CASE("A metric may be asked for the float weights alone, or the quantized ones", "[grid]") {
  CHECK(cells_with(0, true, false) == Names{"a0", "a1", "a2", "b0", "b1", "a2~"});
  CHECK(cells_with(0, false, true) == Names{"a0 q", "a1 q", "a2 q", "b0 q", "b1 q", "a2~ q"});
  CHECK(cells_with(QUENCH_METRIC_NEEDS_FLOAT, true, false).empty());
}

TEST_CASE("A metric of a trajectory measures the last checkpoint of each branch", "[grid]") {
  CHECK(cells_with(QUENCH_METRIC_NEEDS_TRAJECTORY) == Names{"a2", "b1"});
  CHECK(cells_with(QUENCH_METRIC_NEEDS_TRAJECTORY | QUENCH_METRIC_NEEDS_FLOAT) ==
        Names{"a2 q", "b1 q"});
}

TEST_CASE("A branch up to a checkpoint leaves out other branches and what comes later", "[grid]") {
  quench::Experiment experiment;
  for (const char* branch : {"a", "b", "a", "a"}) {
    quench::CheckpointCell cell;
    cell.branch = branch;
    experiment.checkpoints.push_back(cell);
  }
  CHECK(quench::branch_until(experiment, 2) == std::vector<size_t>{0, 2});
}
