// Runs one set of weights of a job: opens it once and goes through its variants.
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
  // `at`: index of the weights; `cells`: all of their cells.
  WeightsRun(const Job& job, size_t at, const std::vector<Cell>& cells, QuantizeCell& quantization,
             OpenModelRules& rules);

  // Returns the records of all cells, in order. `untrained`: why weights that should have been
  // trained are missing, or nullptr.
  std::vector<Record> run(const Error* untrained);

 private:
  // Determines the keys of the cells, and which records exist.
  void identify();
  bool needs_open_model() const;
  void open();
  void look_at_open_model();
  // Finds a failure that ends the run before the float model is measured.
  void check_calibrations();
  // A rule that matches no module fails its quantizer's cells before any work.
  void check_rules();
  // The tokenizer for these weights, which must be the one in their keys.
  TokenizerChoice tokenizer_of(const CheckpointFolder& folder) const;
  // The score by which a searching scheme compares candidates: the manifest's first metric.
  double score(ModelHandle& model, const CheckpointFolder& folder);
  // The quantizations to apply, in order.
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

}  // namespace quench
