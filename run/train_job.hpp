// The training that an experiment begins with.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "core/error.hpp"
#include "core/experiment/experiment.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

struct TrainPlace {
  std::filesystem::path home;  // QUENCH_HOME
  // Of the run: links to its checkpoints and the log of each branch are put there. Empty: nowhere.
  std::filesystem::path folder;
};

// Makes the checkpoints and averages of an experiment that are not there. Returns, by branch, why
// one is not complete. Throws as train().
std::map<std::string, Error> train_job(Catalog& catalog, const Experiment& experiment,
                                       const TrainPlace& place,
                                       const std::function<void(const std::string&)>& say);

}  // namespace quench
