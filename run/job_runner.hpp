// One experiment: a point of the sweep, or the only one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/pass/quantize_cell.hpp"
#include "run/job.hpp"
#include "run/open_model_rules.hpp"

namespace quench {

class JobRunner {
 public:
  // All outlive it.
  JobRunner(const RunContext& run, const Experiment& experiment, QuantizerInstances& quantizers);

  // The records of all its cells, set of weights by set of weights.
  std::vector<Record> run();

 private:
  // Makes the checkpoints that are not there.
  void train_first();
  // Why weights are not there that should have been trained; nullptr where they are.
  const Error* untrained(const WeightsCell& weights) const;
  // Reads the files of the weights of this index while others are at work.
  void read_ahead(size_t at);

  Job job_;
  QuantizeCell quantization_;
  OpenModelRules rules_;
  std::map<std::string, Error> untrained_;  // by branch: why it is not complete
  std::vector<std::vector<Cell>> cells_;    // by weights (index)
};

}  // namespace quench
