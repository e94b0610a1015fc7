// One set of weights of a job while its cells are computed, with what its records say of it.
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

  // Whose files they are.
  const CheckpointCell& checkpoint() const { return files_cell(job.experiment, weights); }

  // The record's place in the grid and how its weights came about. `quantizer`: as
  // describe_quantizer, with bits_per_weight.
  void describe(Record& record, const MeasuredCell& cell, const nlohmann::json& quantizer) const;
  // The records that the cell has without being computed, kept in this run under its name where
  // they come from the store or from a cell of another name; empty where it is to do.
  std::vector<Record> records_there(const MeasuredCell& cell) const;
  // A record of the failure, kept.
  std::vector<Record> keep_failure(const MeasuredCell& cell, const nlohmann::json& quantizer,
                                   const Error& error) const;
  // Fails those cells that `which` names and that have not failed yet.
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
  LocatedCheckpoint files;                                  // empty where they are not there
  nlohmann::json stored;                                    // how the files hold codes, or null
  std::string family;                                       // once the model is open
  std::optional<TokenizerChoice> tokenizer = std::nullopt;  // likewise
  ScoreCache scores = {};                                   // of the metrics with fused scoring
};

}  // namespace quench
