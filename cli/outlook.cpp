#include "cli/outlook.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "run/check_experiment.hpp"
#include "run/check_text.hpp"
#include "run/grid/expected_run.hpp"

namespace quench {

namespace {

void add_trainings(const LoadedRun& run, Context& context, const Rates& rates, uint32_t threads,
                   std::vector<double>& seconds, uint64_t& memory) {
  for (const size_t at : trainings_of(run.experiments)) {
    const TrainingCost cost = training_cost(context.catalog(), *run.experiments[at].training,
                                            context.home(), rates, threads);
    seconds[at] = cost.seconds;
    memory = std::max(memory, cost.memory);
  }
}

// The folders of weights that a task can write now.
std::vector<std::pair<size_t, size_t>> folders_to_write(const LoadedRun& run,
                                                        Identities& identities, bool fetches) {
  std::vector<std::pair<size_t, size_t>> out;
  for (const PendingRow& row :
       pending_rows(run.experiments, folder_places(run.folder), identities)) {
    if (!row.blocked || fetches) {
      out.emplace_back(row.experiment, row.weights);
    }
  }
  return out;
}

// `training_seconds`: what each experiment has to train, or none. `folders`: experiment and row of
// each folder of weights that can be written now.
std::vector<OpenShare> open_shares(const Shares& shares, const std::vector<Cell>& cells,
                                   const PlanCost& cost,
                                   const std::vector<double>& training_seconds,
                                   const std::vector<std::pair<size_t, size_t>>& folders) {
  std::vector<OpenShare> out(shares.count);
  const auto share_of = share_of_weights(shares);
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    OpenShare& share = out.at(share_of.at({cell.job, cell.weights}));
    ++share.cells;
    share.blocked += cell.state == CellState::kBlocked ? 1 : 0;
    share.failed += cell.state == CellState::kFailed ? 1 : 0;
    if (cell.state == CellState::kToDo || cell.state == CellState::kReused) {
      ++share.open;
      share.seconds += cell.state == CellState::kToDo ? cost.cells[i].seconds : 0;
    }
  }
  for (const std::pair<size_t, size_t>& row : folders) {
    ++out.at(share_of.at(row)).folders;
  }
  for (size_t i = 0; i < training_seconds.size(); ++i) {
    if (const auto found = share_of.lower_bound({i, 0});
        found != share_of.end() && found->first.first == i) {
      out[found->second].seconds += training_seconds[i];
    }
  }
  return out;
}

}  // namespace

Outlook look_ahead(const LoadedRun& run, const OutlookOptions& options, Context& context) {
  std::vector<MetricMemory> memory;
  as_usage([&] {
    check_row_folders(run.experiments, folder_places(run.folder));
    check_planned(context.catalog(), run.experiments, context.hub(), Fingerprints(context.home()));
    for (const Experiment& experiment : run.experiments) {
      memory.push_back(predict_metric_memory(context.catalog(), experiment, context.hub()));
    }
  });
  RunKnowledge knowledge = knowledge_of(run, context);
  const Rates rates(context.home());
  std::vector<Cell> cells = survey(run.experiments, knowledge.identities, knowledge.finished,
                                   {/*fresh=*/false, options.retry_failed});
  as_usage([&] {
    check_kept_text(context.catalog(), run.experiments, cells, context.home(), context.hub());
  });
  const PlanCost cost =
      estimate(run.experiments, cells, knowledge.identities, rates, options.threads, memory);
  Outlook out;
  out.memory = cost.total.memory;
  for (Cell& cell : cells) {
    if (options.fetches && cell.state == CellState::kBlocked) {
      cell.state = CellState::kToDo;
      out.unknown = true;
    }
  }
  std::vector<double> training(run.experiments.size(), 0);
  as_usage([&] { add_trainings(run, context, rates, options.threads, training, out.memory); });
  out.shares = open_shares(
      make_shares(context.catalog(), run.experiments, context.hub(), options.shares), cells, cost,
      training, folders_to_write(run, knowledge.identities, options.fetches));
  return out;
}

}  // namespace quench
