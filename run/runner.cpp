#include "run/runner.hpp"

#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <iterator>
#include <thread>

#include "core/corpora/corpora.hpp"
#include "core/error.hpp"
#include "core/plugin/host_services.hpp"
#include "run/check_experiment.hpp"
#include "run/job_runner.hpp"

namespace quench {

namespace {

// Waits while other processes are at all that is left, and says so once.
class Patience {
 public:
  explicit Patience(RunProgress& progress) : progress_(progress) {}

  // `open`: sets of weights that others are at. Throws Error(CANCELLED) after a stop request.
  void wait(size_t open) {
    if (open != said_) {
      said_ = open;
      progress_.say(fmt::format("waiting for {} {} that other processes are at", open,
                                open == 1 ? "set of weights" : "sets of weights"));
    }
    for (int i = 0; i < kParts; ++i) {
      if (HostServices::instance().cancel_flag()) {
        fail(QUENCH_CANCELLED, "stopped on request");
      }
      std::this_thread::sleep_for(kPart);
    }
  }

 private:
  static constexpr int kParts = 5;
  static constexpr std::chrono::milliseconds kPart{100};

  RunProgress& progress_;
  size_t said_ = 0;
};

// Quantizers that calibrate for cells that may be computed.
WantedQuantizers wanted_quantizers(const std::vector<Experiment>& experiments,
                                   CellHistory& history) {
  WantedQuantizers out;
  for (const Cell& cell : cells_of(experiments)) {
    const auto& quantizer = cell.variant.quantizer;
    if (quantizer && experiments[cell.job].quantizers[*quantizer].calibration &&
        !out.contains({cell.job, *quantizer}) &&
        history.may_need_work(experiments[cell.job], cell)) {
      out.emplace(cell.job, *quantizer);
    }
  }
  return out;
}

std::vector<Record> records_of(std::vector<JobProgress>& jobs) {
  std::vector<Record> out;
  for (JobProgress& job : jobs) {
    for (std::vector<Record>& of_weights : job.records) {
      std::move(of_weights.begin(), of_weights.end(), std::back_inserter(out));
    }
  }
  return out;
}

}  // namespace

std::vector<Record> run_experiments(Catalog& catalog, const std::vector<Experiment>& experiments,
                                    const RunnerOptions& options) {
  std::deque<QuantizerInstances> quantizers;  // by experiment
  MetricInstances metrics(catalog);
  for (const Experiment& experiment : experiments) {
    catalog.compute_on(experiment.device);  // before any check loads a plugin
  }
  for (const Experiment& experiment : experiments) {
    HostServices::instance().set_seed(experiment.seed);
    check_experiment(catalog, experiment, options.hub, quantizers.emplace_back(catalog), metrics);
  }
  check_row_folders(experiments, options.places);
  const KeyedContent keyed =
      options.memory
          ? [&](const CorpusUse& use) { return options.memory->identities.measured_corpus(use); }
          : KeyedContent();
  Corpora corpora(catalog, TokenCache(options.home), options.hub, keyed);
  const std::unique_ptr<CellHistory> history = cell_history(options);
  check_calibration_text(catalog, experiments, wanted_quantizers(experiments, *history), corpora);
  if (options.on_start) {
    options.on_start();
  }
  remove_row_leftovers(experiments, options.places);
  RecordKeeper keeper(options, *history);
  RunProgress progress(options.on_step, cells_of(experiments).size());
  const RunContext context{
      catalog,  options, corpora,  metrics,
      *history, keeper,  progress, options.claims ? options.claims() : nullptr};
  std::vector<JobProgress> jobs(experiments.begin(), experiments.end());
  for (Patience patience(progress);;) {
    bool moved = false;
    size_t open = 0;
    for (size_t job = 0; job < experiments.size(); ++job) {
      if (jobs[job].open() > 0) {
        moved = JobRunner(context, experiments[job], quantizers[job]).run(jobs[job]) || moved;
        open += jobs[job].open();
      }
    }
    if (open == 0) {
      if (options.supply != nullptr) {
        options.supply->end();
      }
      return records_of(jobs);
    }
    if (!moved) {
      patience.wait(open);
    }
    history->renew({});
  }
}

}  // namespace quench
