// One set of weights of a job: opened once, then variant by variant.
#pragma once

#include <optional>
#include <vector>

#include "core/pass/quantize_cell.hpp"
#include "core/weights/open_weights.hpp"
#include "run/open_model_rules.hpp"
#include "run/owed_folders.hpp"
#include "run/weights_at_work.hpp"

namespace quench {

class WeightsRun {
 public:
  // `at`: index of the weights; `cells`: all of theirs.
  WeightsRun(const Job& job, size_t at, const std::vector<Cell>& cells, QuantizeCell& quantization,
             OpenModelRules& rules);

  // The records of all cells, in their order. `untrained`: why the weights are not there that
  // should have been trained, or nullptr.
  std::vector<Record> run(const Error* untrained);

 private:
  // Finds out the keys of the cells, and what is there.
  void identify();
  bool needs_open_model() const;
  void open();
  void look_at_open_model();
  // Where the first failure ends the run, it should not have to wait for the float model.
  void check_calibrations();
  // A rule that fits no module fails its quantizer's cells before any work.
  void check_rules();
  // How a searching scheme compares candidates: by the manifest's first metric.
  double score(ModelHandle& model, const CheckpointFolder& folder);
  // What is to be applied, in order.
  std::vector<Quantization> quantizations_to_do();

  const Job& job_;
  QuantizeCell& quantization_;
  OpenModelRules& rules_;
  WeightsAtWork weights_;
  OwedFolders folders_;
  size_t at_;
  std::optional<OpenWeights> open_;
  std::optional<Error> not_open_;  // why `open` failed
};

// The checkpoints whose files these weights are made of.
CheckpointFiles files_of(const Experiment& experiment, const WeightsCell& weights);

}  // namespace quench
