#include "run/job_runner.hpp"

#include <fmt/format.h>

#include <filesystem>

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

bool JobRunner::run(JobProgress& progress) {
  if (!train_first(progress)) {
    return false;
  }
  HostServices::instance().set_seed(job_.experiment.seed);
  bool moved = false;
  for (size_t at = 0; at < cells_.size(); ++at) {
    moved = (!progress.done[at] && run_weights(at, progress)) || moved;
  }
  return moved;
}

bool JobRunner::run_weights(size_t at, JobProgress& progress) {
  const WeightsCell& weights = job_.experiment.weights[at];
  const bool divided = job_.run.claims != nullptr && needs_work(at);
  const std::optional<Claim> claim =
      divided ? job_.run.claims->take(work_of(at)) : std::optional<Claim>();
  if (divided && !claim) {
    return false;
  }
  if (claim) {
    job_.run.history.renew(claim->earlier());
  }
  if (job_.run.options.supply != nullptr) {
    job_.run.options.supply->begin(job_.experiment.job, at);
  }
  const uint64_t done_before = job_.run.progress.done();
  read_ahead_of(at, progress);
  job_.run.progress.say(weights_name(job_.experiment, weights));
  job_.run.keeper.hold(claim ? &*claim : nullptr);
  try {
    WeightsRun weights_run(job_, at, cells_[at], quantization_, rules_);
    progress.records[at] = weights_run.run(untrained(weights, progress));
    progress.done[at] = true;
  } catch (const Error& error) {
    if (!job_.run.keeper.lost()) {
      job_.run.keeper.hold(nullptr);
      throw;
    }
    HostServices::instance().log(
        QUENCH_LOG_WARNING, "",
        fmt::format("{}: {}", weights_name(job_.experiment, weights), error.what()));
    quantization_.expect({});
    job_.run.progress.set_back(done_before);
  }
  job_.run.keeper.hold(nullptr);
  return progress.done[at];
}

bool JobRunner::needs_work(size_t at) {
  const std::vector<RowFolder> folders = row_folders(job_.experiment, job_.run.options.places);
  return std::any_of(folders.begin(), folders.end(),
                     [&](const RowFolder& row) { return row.weights == at; }) ||
         std::any_of(cells_[at].begin(), cells_[at].end(), [&](const Cell& cell) {
           return !job_.run.history.is_recorded(job_.experiment, cell);
         });
}

std::string JobRunner::work_of(size_t at) const {
  const WeightsCell& weights = job_.experiment.weights[at];
  return fmt::format("job {}: {} of {}", job_.experiment.job,
                     weights_name(job_.experiment, weights),
                     job_.experiment.checkpoints[weights.checkpoint].model);
}

bool JobRunner::train_first(JobProgress& progress) {
  if (job_.experiment.training == nullptr) {
    progress.untrained.emplace();
  }
  if (progress.untrained) {
    return true;
  }
  const RunnerOptions& options = job_.run.options;
  // Jobs that begin with the same steps go one after the other, and each finds what the one before
  // has trained.
  Claims* claims = job_.run.claims;
  const std::optional<Claim> claim =
      claims != nullptr ? claims->take("training " + job_.experiment.checkpoints.front().location)
                        : std::optional<Claim>();
  if (claims != nullptr && !claim) {
    return false;
  }
  progress.untrained = train_job(job_.run.catalog, job_.experiment,
                                 {options.home, options.memory ? options.memory->folder : ""},
                                 [this](const std::string& what) { job_.run.progress.say(what); });
  if (options.fail_fast && !progress.untrained->empty()) {
    throw progress.untrained->begin()->second;
  }
  for (const CheckpointCell& cell : job_.experiment.checkpoints) {
    job_.run.history.forget_if_changed(cell);
  }
  return true;
}

const Error* JobRunner::untrained(const WeightsCell& weights, const JobProgress& progress) const {
  const auto found = progress.untrained->find(files_cell(job_.experiment, weights).branch);
  if (found == progress.untrained->end()) {
    return nullptr;
  }
  const MemberCells files = files_of(job_.experiment, weights);
  const bool absent = std::any_of(files.begin(), files.end(), [](const CheckpointCell* file) {
    std::error_code unreadable;
    return !std::filesystem::exists(file->location, unreadable);
  });
  return absent ? &found->second : nullptr;
}

void JobRunner::read_ahead_of(size_t at, const JobProgress& progress) {
  for (size_t next = at + 1; next < cells_.size(); ++next) {
    if (progress.done[next] ||
        (job_.run.claims != nullptr && job_.run.claims->is_taken(work_of(next)))) {
      continue;
    }
    const auto may_need_work = [&](const Cell& cell) {
      return job_.run.history.may_need_work(job_.experiment, cell);
    };
    if (std::any_of(cells_[next].begin(), cells_[next].end(), may_need_work)) {
      job_.run.history.read_ahead(files_of(job_.experiment, job_.experiment.weights[next]));
    }
    return;
  }
}

}  // namespace quench
