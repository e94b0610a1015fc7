#include "run/check_fits.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "core/inputs/corpora/corpora.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "run/grid/identity.hpp"
#include "run/manifest/described_model.hpp"
#include "train/recipe.hpp"

namespace quench {

namespace fs = std::filesystem;

bool check_fits(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                MetricInstances& metrics, Checks& checks) {
  std::optional<DescribedModels> described;
  const auto for_each_model = [&](auto check) {
    if (!described) {
      described = describe_models(catalog, experiment, hub);
    }
    for (const DescribedModel& each : described->models) {
      check(each.model);
    }
  };
  for (const MetricCell& cell : experiment.metrics) {
    checks.attempt(cell.where, [&] {
      checks.left_to_cells({QUENCH_INVALID_ARGUMENT}, [&] {
        if (metrics.checks_fit(cell, hub)) {
          for_each_model([&](const ModelHandle& model) { metrics.check_fit(cell, hub, model); });
        }
      });
    });
  }
  for (const QuantizerCell& cell : experiment.quantizers) {
    if (cell.calibration && cell.calibration->length > 0) {
      checks.attempt(cell.where, [&] {
        for_each_model([&](const ModelHandle& model) {
          check_length(*cell.calibration, static_cast<uint64_t>(model.info().max_positions));
        });
      });
    }
  }
  return described && described->complete;
}

namespace {

// All that check_fits asks: which plugins, with which parameters, and which models.
std::optional<nlohmann::json> question_of_fits(const Catalog& catalog, const Experiment& experiment,
                                               const HubEnvironment& hub,
                                               std::vector<fs::path>& configs) {
  nlohmann::json out = {{"fits", nlohmann::json::array()},
                        {"families", code_of_kind(catalog, "model")},
                        {"formats", code_of_kind(catalog, "format")}};
  for (const MetricCell& cell : experiment.metrics) {
    out["fits"].push_back({cell.plugin->code, cell.parameters});
  }
  for (const QuantizerCell& cell : experiment.quantizers) {
    out["fits"].push_back(cell.calibration ? cell.calibration->length : uint64_t{0});
  }
  if (experiment.training != nullptr) {
    out["trained"] = {experiment.training->recipe.config, experiment.training->recipe.family->id};
    return out;
  }
  std::set<std::string> models;
  for (const CheckpointCell& cell : experiment.checkpoints) {
    if (models.insert(cell.model + "\n" + cell.config + "\n" + cell.family).second) {
      const fs::path place = locate_checkpoint(cell, hub).path;
      std::error_code unreadable;
      configs.push_back(fs::is_directory(place, unreadable) ? place / "config.json" : place);
      if (fs::is_regular_file(cell.config, unreadable)) {
        configs.emplace_back(cell.config);
      }
      out["models"].push_back({cell.config, cell.family});
    }
  }
  return out;
}

}  // namespace

void check_known_fits(Catalog& catalog, const Experiment& experiment, const HubEnvironment& hub,
                      const Fingerprints& memory, Checks& checks) {
  std::vector<fs::path> configs;
  std::optional<nlohmann::json> question;
  try {
    question = question_of_fits(catalog, experiment, hub, configs);
  } catch (const Error&) {  // a checkpoint is not here
  }
  if (question && memory.find(*question, configs)) {
    return;
  }
  const size_t before = checks.count();
  MetricInstances metrics(catalog);
  if (check_fits(catalog, experiment, hub, metrics, checks) && question &&
      checks.count() == before) {
    memory.remember(*question, configs, "fits");
  }
}

}  // namespace quench
