#include "run/storage_needs.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "core/hub/hub_spec.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

namespace {

class NeedsFinder {
 public:
  NeedsFinder(const FolderPlaces& places, Identities& identities)
      : places_(places), identities_(identities) {}

  // `cells`: those of this experiment.
  void add(const Experiment& experiment, const std::vector<const Cell*>& cells) {
    std::vector<std::set<size_t>> steps(experiment.weights.size());
    for (const Cell* cell : cells) {
      if (is_pending(*cell)) {
        add_files(experiment, cell->weights, steps[cell->weights]);
        add_trajectory(experiment, *cell, steps[cell->weights]);
      }
    }
    for (const RowFolder& row : row_folders(experiment, places_)) {
      if (!is_known_current(experiment, row, identities_)) {
        add_files(experiment, row.weights, steps[row.weights]);
      }
    }
    for (size_t weights = 0; weights < steps.size(); ++weights) {
      out_.at.emplace_back(experiment.job, weights);
      out_.steps.push_back(std::move(steps[weights]));
    }
  }

  StorageNeeds take() { return std::move(out_); }

 private:
  static bool is_pending(const Cell& cell) {
    return cell.state == CellState::kToDo || cell.state == CellState::kBlocked;
  }

  void add_checkpoint(const CheckpointCell& cell, std::set<size_t>& step) {
    if (!is_hub_spec(cell.location)) {
      return;
    }
    const auto [entry, added] = index_.try_emplace(cell.location, out_.revisions.size());
    if (added) {
      out_.revisions.push_back(cell.location);
    }
    step.insert(entry->second);
  }

  void add_files(const Experiment& experiment, size_t weights, std::set<size_t>& step) {
    for (const CheckpointCell* cell : files_of(experiment, experiment.weights[weights])) {
      add_checkpoint(*cell, step);
    }
  }

  void add_trajectory(const Experiment& experiment, const Cell& cell, std::set<size_t>& step) {
    if ((experiment.metrics[cell.metric].needs & QUENCH_METRIC_NEEDS_TRAJECTORY) == 0) {
      return;
    }
    for (const size_t place :
         branch_until(experiment, experiment.weights[cell.weights].checkpoint)) {
      add_checkpoint(experiment.checkpoints[place], step);
    }
  }

  const FolderPlaces& places_;
  Identities& identities_;
  StorageNeeds out_;
  std::map<std::string, size_t> index_;
};

}  // namespace

StorageNeeds storage_needs(const std::vector<Experiment>& experiments,
                           const std::vector<Cell>& cells, const FolderPlaces& places,
                           Identities& identities) {
  std::vector<std::vector<const Cell*>> by_job(experiments.size());
  for (const Cell& cell : cells) {
    by_job[cell.job].push_back(&cell);
  }
  NeedsFinder finder(places, identities);
  for (size_t i = 0; i < experiments.size(); ++i) {
    finder.add(experiments[i], by_job[i]);
  }
  return finder.take();
}

std::string step_in_words(const std::vector<Experiment>& experiments,
                          const std::pair<size_t, size_t>& at) {
  const auto found =
      std::find_if(experiments.begin(), experiments.end(),
                   [&](const Experiment& experiment) { return experiment.job == at.first; });
  const WeightsCell& weights = found->weights[at.second];
  const std::string name = weights_name(*found, weights);
  return weights.members.empty()
             ? name
             : fmt::format("{}, an average of {} checkpoints that are read together", name,
                           weights.members.size());
}

}  // namespace quench
