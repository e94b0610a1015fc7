// Runs one set of weights of a job: opens it once, then quantizes, measures and sets back one
// variant after the other.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/weights/float_weights.hpp"
#include "core/inputs/weights/open_weights.hpp"
#include "core/pass/evaluate.hpp"
#include "core/pass/score.hpp"
#include "core/pass/stored_size.hpp"
#include "run/cell_history.hpp"
#include "run/run_state.hpp"

namespace quench {

class WeightsRun {
 public:
  // `at`: index of the weights.
  WeightsRun(RunState& run, Job& job, size_t at);

  // Returns the records of all cells, in order. `untrained`: why weights that should have been
  // trained are missing, or nullptr.
  std::vector<Record> run(const Error* untrained);

 private:
  // A variant as it is in the open model.
  struct VariantModel {
    const FloatWeights* kept;  // its float weights if it is quantized; nullptr: it is float
    nlohmann::json quantizer;  // the result of describe_quantizer, with bits_per_weight
    nlohmann::json details;    // what the pass adds to the first record of each metric
  };

  // ---- weights_run.cpp: before any variant
  // Determines the keys of the cells, and which records exist.
  void identify();
  // Which folders must be written; reports one that cannot be examined.
  void find_exports();
  bool needs_open_model() const;
  void open();
  void look_at_open_model();
  // Finds a failure that ends the run before the float model is measured.
  void check_calibrations();
  // A rule that matches no module of this model, nor of one opened before, fails its quantizer's
  // cells before any work. Where all models were described, rules were checked before.
  void check_rules();
  // The tokenizer for these weights, which must be the one in their keys.
  TokenizerChoice tokenizer_of(const CheckpointFolder& folder) const;
  // The score by which a searching scheme compares candidates: the manifest's first metric.
  double score(ModelHandle& model, const CheckpointFolder& folder);
  // The quantizations to apply, in order.
  std::vector<Quantization> quantizations_to_do();
  // Fails those cells that `which` selects and that have not failed yet.
  template <typename Which>
  void fail_cells(const Error& error, Which which);

  // ---- weights_run.cpp: one variant; `cells` are all of its cells
  // Takes existing records, computes the others and writes the folder of the variant.
  void run_variant(std::span<MeasuredCell> cells);
  // Fills in what is known without computing.
  void take_records(std::span<MeasuredCell> cells);
  void run_quantized(std::span<MeasuredCell> cells, const PendingExport* folder);
  void quantize_and_measure(std::span<MeasuredCell> cells, const PendingExport* folder,
                            FloatWeights& kept, nlohmann::json& quantizer);
  // The score requests that are known before the variant exists.
  std::span<const ScoreRequest> requests(std::span<const MeasuredCell> cells) const;
  // {"stored_bytes": ...} for the records of these weights; {} for files of codes, which have
  // another size.
  nlohmann::json size_details(const QuantizedShare& quantized) const;
  // The folder of a variant with a quantizer, or nullptr if there is nothing to write.
  const PendingExport* export_of(const Variant& variant) const;
  // Writes the averages, which need no variant.
  void write_averages();
  // Runs `body`, which writes the folder. Its values stay valid even if its weights cannot be
  // written.
  template <typename Body>
  void write(const PendingExport& folder, Body body);
  void tell_unwritten(const RowFolder& row, const Error& error);

  // ---- measure_cell.cpp
  // Computes the cells that have no records yet; a failure is a record, too.
  void measure(std::span<MeasuredCell> cells, const VariantModel& variant);
  std::vector<Record> measure(const MeasuredCell& cell, const VariantModel& variant);
  // Other weights that a metric asked for.
  std::vector<MetricWeights> further_weights(const MetricCell& metric, const VariantModel& variant);
  // The current weights in the dtype of one metric.
  ModelHandle in_dtype(quench_dtype dtype, const VariantModel& variant);
  // Whether to score what the cell's metric asks for during passes over these weights.
  bool is_fused(const MeasuredCell& cell) const;
  // Sets the record's place in the grid and the origin of its weights.
  void describe(Record& record, const MeasuredCell& cell, const nlohmann::json& quantizer) const;
  // The records that the cell has without computation. Stores those from the store or of another
  // name in this run. Empty if the cell is pending.
  std::vector<Record> records_there(MeasuredCell& cell);
  // Corpora and calibration under the names of this manifest: another one measured the value.
  void name_as_here(Record& record, const MeasuredCell& cell) const;
  // Stores a record of the failure.
  std::vector<Record> keep_failure(const MeasuredCell& cell, const nlohmann::json& quantizer,
                                   const Error& error);

  RunState& run_;
  Job& job_;
  const Experiment& experiment_;
  const size_t at_;
  const WeightsCell& weights_;
  const CheckpointCell& checkpoint_;  // that the files belong to
  std::vector<MeasuredCell> cells_;
  std::vector<PendingExport> exports_;
  std::string commit_;                 // of a hub checkpoint; empty if the files are missing
  nlohmann::json stored_;              // how the files hold codes, or null
  std::vector<std::string> warnings_;  // of the plugins that opened the model
  std::optional<OpenWeights> open_;
  std::optional<Error> not_open_;  // why `open` failed
  // Of the open model.
  std::string family_;
  std::optional<TokenizerChoice> tokenizer_;
  ScoreCache scores_;  // of the metrics with fused scoring
};

}  // namespace quench
