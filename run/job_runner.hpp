// Runs one experiment: a point of the sweep, or the only one.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/pass/quantize_cell.hpp"
#include "run/job.hpp"
#include "run/open_model_rules.hpp"

namespace quench {

// How far a job is.
struct JobProgress {
  explicit JobProgress(const Experiment& experiment)
      : done(experiment.weights.size()), records(experiment.weights.size()) {}
  // Sets of weights that this process has no records of yet.
  size_t open() const { return static_cast<size_t>(std::count(done.begin(), done.end(), false)); }

  std::vector<bool> done;                    // by weights (index)
  std::vector<std::vector<Record>> records;  // likewise: of all cells
  // By branch: why it is incomplete. Empty until the training is done.
  std::optional<std::map<std::string, Error>> untrained;
};

class JobRunner {
 public:
  // All arguments must outlive it.
  JobRunner(const RunContext& run, const Experiment& experiment, QuantizerInstances& quantizers);

  // Goes through the open sets of weights, one after the other, and leaves those alone that another
  // process is at. Returns false if that were all of them.
  bool run(JobProgress& progress);

 private:
  // Makes the missing checkpoints. Returns false if another process is at it.
  bool train_first(JobProgress& progress);
  // Whether something may have to be computed or written for the weights with this index.
  bool needs_work(size_t at);
  // The name of this work among processes.
  std::string work_of(size_t at) const;
  // False if another process is at it, or has taken it over meanwhile.
  bool run_weights(size_t at, JobProgress& progress);
  // Why weights that should have been trained are missing; nullptr if they exist.
  const Error* untrained(const WeightsCell& weights, const JobProgress& progress) const;
  // Reads the files of the next open weights after this index in the background.
  void read_ahead_of(size_t at, const JobProgress& progress);

  Job job_;
  QuantizeCell quantization_;
  OpenModelRules rules_;
  std::vector<std::vector<Cell>> cells_;  // by weights (index)
};

}  // namespace quench
