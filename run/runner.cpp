#include "run/runner.hpp"

#include <deque>
#include <iterator>

#include "core/corpora/corpora.hpp"
#include "core/plugin/host_services.hpp"
#include "run/check_experiment.hpp"
#include "run/job_runner.hpp"

namespace quench {

std::vector<Record> run_experiments(Catalog& catalog, const std::vector<Experiment>& experiments,
                                    const RunnerOptions& options) {
  std::deque<QuantizerInstances> quantizers;  // by experiment
  MetricInstances metrics(catalog);
  for (const Experiment& experiment : experiments) {
    HostServices::instance().set_seed(experiment.seed);
    check_experiment(catalog, experiment, options.hub, quantizers.emplace_back(catalog), metrics);
  }
  check_row_folders(experiments, options.places);
  if (options.on_start) {
    options.on_start();
  }
  remove_row_leftovers(experiments, options.places);
  Corpora corpora(catalog, TokenCache(options.home), options.hub);
  const std::unique_ptr<CellHistory> history = cell_history(options);
  RecordKeeper keeper(options, *history);
  RunProgress progress(options.on_step, cells_of(experiments).size());
  const RunContext context{catalog, options, corpora, metrics, *history, keeper, progress};
  std::vector<Record> records;
  for (size_t job = 0; job < experiments.size(); ++job) {
    std::vector<Record> of_job = JobRunner(context, experiments[job], quantizers[job]).run();
    std::move(of_job.begin(), of_job.end(), std::back_inserter(records));
  }
  return records;
}

}  // namespace quench
