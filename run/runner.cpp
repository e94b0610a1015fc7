#include "run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <thread>

#include "core/base/io/look.hpp"
#include "core/error.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/plugin/calls/at_work.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/cell_history.hpp"
#include "run/check_experiment.hpp"
#include "run/run_state.hpp"
#include "run/train_job.hpp"
#include "run/weights_run.hpp"

namespace quench {

void RunState::say(const std::string& what) const {
  set_work(what);
  status.step(what, done, total);
}

std::vector<Record> RunState::keep(std::vector<Record> records) {
  if (claim != nullptr && !claim->held()) {
    lost = true;
    fail(QUENCH_UNAVAILABLE, "another process has taken over, and its values count");
  }
  losing_records = true;
  status.keep(records);
  history.publish(records);
  losing_records = false;
  has_value = has_value || records.front().error.empty();
  return records;
}

void RunState::throw_if_final(const Error& error) const {
  stop_if_asked();
  if (losing_records || lost || options.fail_fast || (options.fail_without_values && !has_value)) {
    throw error;
  }
}

namespace {

// Half a second. Throws Error(CANCELLED) after a stop request.
void wait_for_others() {
  for (int i = 0; i < 5; ++i) {
    stop_if_asked();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// Makes the missing checkpoints. Returns false if another process is at it.
bool train_first(RunState& run, Job& job) {
  const Experiment& experiment = job.experiment;
  if (experiment.training == nullptr) {
    job.untrained.emplace();
  }
  if (job.untrained) {
    return true;
  }
  // Jobs that begin with the same steps go one after the other, and each finds what the one before
  // has trained.
  const std::optional<Claim> claim =
      run.claims != nullptr
          ? run.claims->take("training " + experiment.checkpoints.front().location)
          : std::optional<Claim>();
  if (run.claims != nullptr && !claim) {
    return false;
  }
  const RunnerOptions& options = run.options;
  job.untrained = train_job(
      run.catalog, experiment,
      {options.home, options.knowledge != nullptr ? options.knowledge->folder : "", options.fresh},
      [&run](const std::string& what) { run.say(what); });
  if (options.fail_fast && !job.untrained->empty()) {
    throw job.untrained->begin()->second;
  }
  for (const CheckpointCell& cell : experiment.checkpoints) {
    // Another machine may have trained it just now.
    wait_until_listed(cell.location,
                      {"config.json", "model.safetensors", "tokenizer.json", "tokenizer.model"});
    run.history.forget_if_changed(cell);
  }
  return true;
}

// Why weights that should have been trained are missing; nullptr if they exist.
const Error* untrained(const Job& job, const WeightsCell& weights) {
  const auto found = job.untrained->find(files_cell(job.experiment, weights).branch);
  if (found == job.untrained->end()) {
    return nullptr;
  }
  const MemberCells files = files_of(job.experiment, weights);
  const bool absent = std::any_of(files.begin(), files.end(), [](const CheckpointCell* file) {
    return !exists_at(file->location);
  });
  return absent ? &found->second : nullptr;
}

// Whether something may have to be computed or written for the weights with this index.
bool needs_work(const RunState& run, const Job& job, size_t at) {
  const std::vector<RowFolder> folders = row_folders(job.experiment, run.options.places);
  return std::any_of(folders.begin(), folders.end(),
                     [&](const RowFolder& row) { return row.weights == at; }) ||
         std::any_of(job.cells[at].begin(), job.cells[at].end(), [&](const Cell& cell) {
           const auto state = run.history.known_state(job.experiment, cell);
           return state != CellState::kDone && state != CellState::kFailed;
         });
}

// The name of this work among processes.
std::string work_of(const Experiment& experiment, size_t at) {
  const WeightsCell& weights = experiment.weights[at];
  return fmt::format("job {}: {} of {}", experiment.job, weights_name(experiment, weights),
                     experiment.checkpoints[weights.checkpoint].model);
}

// Reads the files of the next open weights after this index in the background.
void read_ahead_of(const RunState& run, const Job& job, size_t at) {
  for (size_t next = at + 1; next < job.cells.size(); ++next) {
    if (job.done[next] ||
        (run.claims != nullptr && run.claims->is_taken(work_of(job.experiment, next)))) {
      continue;
    }
    const auto may_need_work = [&](const Cell& cell) {
      return run.history.may_need_work(job.experiment, cell);
    };
    if (std::any_of(job.cells[next].begin(), job.cells[next].end(), may_need_work)) {
      run.history.read_ahead(files_of(job.experiment, job.experiment.weights[next]));
    }
    return;
  }
}

// Returns false if another process is at these weights, or has taken them over meanwhile.
bool run_weights(RunState& run, Job& job, size_t at) {
  const WeightsCell& weights = job.experiment.weights[at];
  const std::string name = weights_name(job.experiment, weights);
  const bool divided = run.claims != nullptr && needs_work(run, job, at);
  const std::optional<Claim> claim =
      divided ? run.claims->take(work_of(job.experiment, at)) : std::optional<Claim>();
  if (divided && !claim) {
    return false;
  }
  if (claim) {
    run.history.renew(claim->earlier());
  }
  if (run.options.supply != nullptr) {
    run.options.supply->begin(job.experiment.job, at);
  }
  const uint64_t done_before = run.done;
  read_ahead_of(run, job, at);
  run.say(name);
  run.hold(claim ? &*claim : nullptr);
  try {
    job.records[at] = WeightsRun(run, job, at).run(untrained(job, weights));
    job.done[at] = true;
  } catch (const Error& error) {
    if (!run.lost) {
      run.hold(nullptr);
      throw;
    }
    HostServices::instance().log(QUENCH_LOG_WARNING, "", fmt::format("{}: {}", name, error.what()));
    job.quantization.expect({});
    run.done = done_before;
  }
  run.hold(nullptr);
  return job.done[at];
}

// Goes through the open sets of weights, one after the other, and leaves those alone that another
// process is at. Returns false if that were all of them.
bool run_job(RunState& run, Job& job) {
  if (job.open() == 0 || !train_first(run, job)) {
    return false;
  }
  HostServices::instance().set_seed(job.experiment.seed);
  bool moved = false;
  for (size_t at = 0; at < job.done.size(); ++at) {
    moved = (!job.done[at] && run_weights(run, job, at)) || moved;
  }
  return moved;
}

// Until every set of weights is done, here or by another process.
void run_jobs(RunState& run, std::deque<Job>& jobs) {
  for (size_t waited_for = 0;;) {
    bool moved = false;
    size_t open = 0;
    for (Job& job : jobs) {
      moved = run_job(run, job) || moved;
      open += job.open();
    }
    if (open == 0) {
      return;
    }
    if (!moved && open != waited_for) {
      waited_for = open;
      run.say(fmt::format("waiting for {} {} that other processes are at", open,
                          open == 1 ? "set of weights" : "sets of weights"));
    }
    if (!moved) {
      wait_for_others();
    }
    run.history.renew({});
  }
}

}  // namespace

std::vector<Record> run_experiments(Catalog& catalog, const std::vector<Experiment>& experiments,
                                    const RunnerOptions& options, RunStatus& status) {
  for (const Experiment& experiment : experiments) {
    catalog.compute_on(experiment.device);  // before any check loads a plugin
  }
  const KeyedContent keyed =
      options.knowledge != nullptr
          ? [&](const CorpusUse& use) { return options.knowledge->identities.measured_corpus(use); }
          : KeyedContent();
  Corpora corpora(catalog, TokenCache(options.home), options.hub, keyed);
  MetricInstances metrics(catalog);
  std::deque<Job> jobs;
  for (const Experiment& experiment : experiments) {
    Job& job = jobs.emplace_back(catalog, corpora, experiment);
    HostServices::instance().set_seed(experiment.seed);
    check_experiment(catalog, experiment, options.hub, job.quantizers, metrics);
  }
  check_row_folders(experiments, options.places);
  CellHistory history(options, status);
  std::vector<Cell> cells = cells_of(experiments);
  const auto may_need_work = [&](const Cell& cell) {
    return history.may_need_work(experiments[cell.job], cell);
  };
  check_calibration_text(catalog, experiments, wanted_quantizers(experiments, cells, may_need_work),
                         corpora);
  status.begin();
  remove_row_leftovers(experiments, options.places);
  RunState run{catalog, options, status, corpora, metrics, history, cells.size()};
  run.claims = status.claims();
  for (Cell& cell : cells) {
    jobs[cell.job].cells[cell.weights].push_back(std::move(cell));
  }
  run_jobs(run, jobs);
  if (options.supply != nullptr) {
    options.supply->end();
  }
  std::vector<Record> out;
  for (Job& job : jobs) {
    for (std::vector<Record>& of_weights : job.records) {
      std::move(of_weights.begin(), of_weights.end(), std::back_inserter(out));
    }
  }
  return out;
}

}  // namespace quench
