#include "run/job_runner.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "core/plugin/host_services.hpp"
#include "run/train_job.hpp"
#include "run/weights_run.hpp"

namespace quench {

JobRunner::JobRunner(const RunContext& run, const Experiment& experiment,
                     QuantizerInstances& quantizers)
    : job_{run, experiment},
      quantization_(run.catalog, run.corpora, quantizers),
      rules_(run.catalog, experiment, run.options.hub, quantizers),
      cells_(experiment.weights.size()) {
  for (Cell& cell : cells_of({experiment})) {
    cells_[cell.weights].push_back(std::move(cell));
  }
}

std::vector<Record> JobRunner::run() {
  train_first();
  HostServices::instance().set_seed(job_.experiment.seed);
  std::vector<Record> records;
  for (size_t at = 0; at < cells_.size(); ++at) {
    if (at + 1 < cells_.size()) {
      read_ahead(at + 1);
    }
    const WeightsCell& weights = job_.experiment.weights[at];
    job_.run.progress.say(weights_name(job_.experiment, weights));
    WeightsRun weights_run(job_, at, cells_[at], quantization_, rules_);
    std::vector<Record> of_weights = weights_run.run(untrained(weights));
    std::move(of_weights.begin(), of_weights.end(), std::back_inserter(records));
  }
  return records;
}

void JobRunner::train_first() {
  if (job_.experiment.training == nullptr) {
    return;
  }
  const RunnerOptions& options = job_.run.options;
  untrained_ = train_job(job_.run.catalog, job_.experiment,
                         {options.home, options.memory ? options.memory->folder : ""},
                         [this](const std::string& what) { job_.run.progress.say(what); });
  if (options.fail_fast && !untrained_.empty()) {
    throw untrained_.begin()->second;
  }
  for (const CheckpointCell& cell : job_.experiment.checkpoints) {
    job_.run.history.forget_if_changed(cell);
  }
}

const Error* JobRunner::untrained(const WeightsCell& weights) const {
  const auto found = untrained_.find(files_cell(job_.experiment, weights).branch);
  if (found == untrained_.end()) {
    return nullptr;
  }
  const MemberCells files = files_of(job_.experiment, weights);
  const bool absent = std::any_of(files.begin(), files.end(), [](const CheckpointCell* file) {
    std::error_code unreadable;
    return !std::filesystem::exists(file->location, unreadable);
  });
  return absent ? &found->second : nullptr;
}

void JobRunner::read_ahead(size_t at) {
  const bool worth_it = std::any_of(cells_[at].begin(), cells_[at].end(), [&](const Cell& cell) {
    return job_.run.history.may_need_work(job_.experiment, cell);
  });
  if (worth_it) {
    job_.run.history.read_ahead(files_of(job_.experiment, job_.experiment.weights[at]));
  }
}

}  // namespace quench
