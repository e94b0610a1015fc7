#include "run/train_job.hpp"

#include "core/base/io/atomic_file.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/training_cost.hpp"
#include "run/manifest/folder_name.hpp"
#include "train/train.hpp"
#include "train/training_log.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

void link_to(const fs::path& target, const fs::path& link) {
  std::error_code error;
  const fs::file_type there = fs::symlink_status(link, error).type();
  const bool free = there == fs::file_type::not_found || there == fs::file_type::symlink;
  if (!free || !fs::exists(target, error) || fs::read_symlink(link, error) == target) {
    return;  // also if a file of the user's has the name
  }
  make_folders(link.parent_path());
  fs::remove(link, error);
  fs::create_directory_symlink(target, link, error);
}

// Writes names for people beside the results; the run uses the keys.
void describe_in(const fs::path& folder, const Experiment& experiment,
                 const TrainedStates& states) {
  const fs::path links = folder_of_job(folder / "checkpoints", experiment.job);
  for (const WeightsCell& weights : experiment.weights) {
    const CheckpointCell& cell = files_cell(experiment, weights);
    if (!weights.averaging || weights.live) {
      const std::string name =
          weights.live ? experiment.averagings[*weights.averaging].label + " at " + cell.revision
                       : cell.revision;
      const fs::path branch = cell.branch.empty() ? "" : folder_name(cell.branch);
      link_to(cell.location, links / branch / folder_name(name));
    }
  }
  for (const Branch& branch : experiment.branches) {
    std::string last;
    for (const CheckpointCell& cell : experiment.checkpoints) {
      std::error_code error;
      if (cell.branch == branch.name && fs::exists(cell.location, error)) {
        last = fs::path(cell.location).filename().string();
      }
    }
    const std::string log = last.empty() ? "" : training_log(states, last);
    if (!log.empty()) {
      const fs::path logs = folder_of_job(folder / "training", experiment.job);
      make_folders(logs);
      write_file_atomically(
          logs / (folder_name(branch.name.empty() ? experiment.name : branch.name) + ".jsonl"),
          log);
    }
  }
}

}  // namespace

std::map<std::string, Error> train_job(Catalog& catalog, const Experiment& experiment,
                                       const TrainPlace& place,
                                       const std::function<void(const std::string&)>& say) {
  const Training& training = *experiment.training;
  const TrainedStates states(place.home);
  const auto describe = [&] {
    if (!place.folder.empty()) {
      describe_in(place.folder, experiment, states);
    }
  };
  TrainOptions options;
  options.home = place.home;
  options.fresh = place.fresh;
  options.on_branch = [&](const std::string& branch) {
    say(branch.empty() ? "training" : "training " + branch);
  };
  TrainOutcome outcome;
  try {
    outcome = train(catalog, training, options);
  } catch (const Error& error) {
    if (error.code() == QUENCH_CANCELLED) {
      describe();
    }
    throw;
  }
  describe();
  if (outcome.steps > 0) {
    learn_training_rate(place.home, training, outcome);
  }
  for (const auto& [branch, error] : outcome.failures) {
    HostServices::instance().log(QUENCH_LOG_ERROR, "", error.what());
  }
  return outcome.failures;
}

}  // namespace quench
