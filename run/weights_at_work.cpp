#include "run/weights_at_work.hpp"

#include <utility>

#include "core/plugin/host_services.hpp"
#include "core/weights/open_checkpoint_folder.hpp"
#include "run/grid/describe_cell.hpp"

namespace quench {

namespace {

// Into what this run says of a plugin: what only the run that measured a value knows of it.
void take_measured(const nlohmann::json& from, nlohmann::json& to) {
  if (!from.is_object() || !to.is_object()) {
    return;
  }
  to.erase("process");
  for (const char* name : {"bits_per_weight", "process"}) {
    if (from.contains(name)) {
      to[name] = from[name];
    }
  }
  if (from.contains("transform") && to.contains("transform")) {
    take_measured(from["transform"], to["transform"]);
  }
}

}  // namespace

WeightsAtWork::WeightsAtWork(const Job& from, const WeightsCell& which, const std::vector<Cell>& of)
    : job(from), weights(which), name(weights_name(from.experiment, which)) {
  for (const Cell& cell : of) {
    cells.push_back({cell});
  }
  try {
    files = locate_checkpoint(checkpoint(), job.run.options.hub);
  } catch (...) {
    files = {};  // every cell will report it
  }
  try {
    stored = stored_quantization(job.run.catalog, files.path);
  } catch (...) {
    stored = nullptr;  // likewise, if a cell needs the weights
  }
}

void WeightsAtWork::describe(Record& record, const MeasuredCell& cell,
                             const nlohmann::json& quantizer) const {
  quench::describe({job.run.catalog, job.experiment, cell.cell, cell.parts, quantizer, files.commit,
                    family, stored},
                   record);
}

std::vector<Record> WeightsAtWork::records_there(const MeasuredCell& cell) const {
  std::vector<Record> records = job.run.history.records_of(job.experiment, cell.cell);
  if (cell.cell.state != CellState::kReused) {
    return records;
  }
  for (Record& record : records) {
    nlohmann::json quantizer =
        describe_quantizer(job.run.catalog, job.experiment, cell.cell.variant);
    take_measured(record.quantizer, quantizer);
    const nlohmann::json averaging = std::exchange(record.averaging, nullptr);
    // The machine that measured it stays; this run sets the point of the sweep.
    nlohmann::json environment = std::exchange(record.environment, nlohmann::json::object());
    const nlohmann::json checkpoint = std::exchange(record.checkpoint, nullptr);
    describe(record, cell, quantizer);
    take_measured(averaging, record.averaging);
    if (stored.is_null() && checkpoint.is_object() && checkpoint.contains("stored")) {
      record.checkpoint["stored"] = checkpoint["stored"];  // the weights are not here any more
    }
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
  if (error.code() == QUENCH_UNAVAILABLE) {  // nobody's fault here: the next run measures it
    HostServices::instance().log(
        QUENCH_LOG_ERROR, "",
        fmt::format("{} was not measured and is not recorded as failed: {}", name, record.error));
    return {record};
  }
  return job.run.keeper.keep({record});
}

}  // namespace quench
