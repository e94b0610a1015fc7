#include "run/weights_at_work.hpp"

#include <utility>

#include "core/weights/open_checkpoint_folder.hpp"
#include "run/grid/describe_cell.hpp"

namespace quench {

WeightsAtWork::WeightsAtWork(const Job& from, const WeightsCell& which, const std::vector<Cell>& of)
    : job(from), weights(which), name(weights_name(from.experiment, which)) {
  for (const Cell& cell : of) {
    cells.push_back({cell});
  }
  try {
    files = locate_checkpoint(checkpoint(), job.run.options.hub);
    stored = stored_quantization(job.run.catalog, files.path);
  } catch (...) {
    files = {};  // every cell will report it
  }
}

void WeightsAtWork::describe(Record& record, const MeasuredCell& cell,
                             const nlohmann::json& quantizer) const {
  quench::describe({job.experiment, cell.cell, cell.parts, quantizer, files.commit, family, stored},
                   record);
}

std::vector<Record> WeightsAtWork::records_there(const MeasuredCell& cell) const {
  std::vector<Record> records = job.run.history.records_of(job.experiment, cell.cell);
  if (cell.cell.state != CellState::kReused) {
    return records;
  }
  for (Record& record : records) {
    nlohmann::json quantizer = describe_quantizer(job.experiment, cell.cell.variant);
    if (quantizer.is_object() && record.quantizer.contains("bits_per_weight")) {
      quantizer["bits_per_weight"] = record.quantizer["bits_per_weight"];
    }
    // The machine that measured it stays; this run sets the point of the sweep.
    nlohmann::json environment = std::exchange(record.environment, nlohmann::json::object());
    describe(record, cell, quantizer);
    if (environment.is_object()) {
      environment.erase("sweep");
      if (record.environment.contains("sweep")) {
        environment["sweep"] = record.environment["sweep"];
      }
    }
    record.environment = std::move(environment);
  }
  return job.run.keeper.keep(std::move(records));
}

std::vector<Record> WeightsAtWork::keep_failure(const MeasuredCell& cell,
                                                const nlohmann::json& quantizer,
                                                const Error& error) const {
  Record record;
  record.metric = job.experiment.metrics[cell.cell.metric].plugin->id;
  describe(record, cell, quantizer);
  record.error = printable(error.what(), kMaxRecordText);
  return job.run.keeper.keep({record});
}

}  // namespace quench
