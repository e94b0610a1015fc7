// Runs one experiment: a point of the sweep, or the only one.
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
  // All arguments must outlive it.
  JobRunner(const RunContext& run, const Experiment& experiment, QuantizerInstances& quantizers);

  // Returns the records of all cells, one set of weights after the other.
  std::vector<Record> run();

 private:
  // Makes the missing checkpoints.
  void train_first();
  // Why weights that should have been trained are missing; nullptr if they exist.
  const Error* untrained(const WeightsCell& weights) const;
  // Reads the files of the weights with this index in the background.
  void read_ahead(size_t at);

  Job job_;
  QuantizeCell quantization_;
  OpenModelRules rules_;
  std::map<std::string, Error> untrained_;  // by branch: why it is incomplete
  std::vector<std::vector<Cell>> cells_;    // by weights (index)
};

}  // namespace quench
