// One set of weights of a job while its cells are computed, with what its records say about it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/corpora/tokenizer_choice.hpp"
#include "core/pass/score.hpp"
#include "core/weights/open_checkpoint.hpp"
#include "core/weights/open_weights.hpp"
#include "run/job.hpp"
#include "run/measured_cell.hpp"

namespace quench {

struct WeightsAtWork {
  // `of`: its cells.
  WeightsAtWork(const Job& from, const WeightsCell& which, const std::vector<Cell>& of);

  // The checkpoint that the files belong to.
  const CheckpointCell& checkpoint() const { return files_cell(job.experiment, weights); }

  // Sets the record's place in the grid and the origin of its weights. `quantizer`: the result of
  // describe_quantizer, with bits_per_weight.
  void describe(Record& record, const MeasuredCell& cell, const nlohmann::json& quantizer) const;
  // The records that the cell has without computation. Stores those from the store or of another
  // name in this run. Empty if the cell is pending.
  std::vector<Record> records_there(const MeasuredCell& cell) const;
  // Stores a record of the failure.
  std::vector<Record> keep_failure(const MeasuredCell& cell, const nlohmann::json& quantizer,
                                   const Error& error) const;
  // Fails those cells that `which` selects and that have not failed yet.
  template <typename Which>
  void fail_cells(const Error& error, Which which) {
    for (MeasuredCell& each : cells) {
      if (!each.fault && which(each)) {
        each.fault = error;
      }
    }
  }

  const Job& job;
  const WeightsCell& weights;
  std::string name;
  std::vector<MeasuredCell> cells;
  LocatedCheckpoint files;                                  // empty if the files are missing
  nlohmann::json stored;                                    // how the files hold codes, or null
  std::string family;                                       // known once the model is open
  std::optional<TokenizerChoice> tokenizer = std::nullopt;  // known once the model is open
  ScoreCache scores = {};                                   // of the metrics with fused scoring
};

}  // namespace quench
