// Runs the training that an experiment begins with.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/error.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"

namespace quench {

struct TrainPlace {
  std::filesystem::path home;  // QUENCH_HOME
  // The run's folder for links to checkpoints and for the log of each branch. Empty: none.
  std::filesystem::path folder;
  bool fresh = false;  // believes no remembered hash
};

// Makes the missing checkpoints and averages of an experiment. Returns, by branch, why one is
// incomplete. Throws like train().
std::map<std::string, Error> train_job(Catalog& catalog, const Experiment& experiment,
                                       const TrainPlace& place,
                                       const std::function<void(const std::string&)>& say);

}  // namespace quench
