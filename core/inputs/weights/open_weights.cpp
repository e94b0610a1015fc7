#include "core/inputs/weights/open_weights.hpp"

#include "core/error.hpp"
#include "core/inputs/averaging/spelling.hpp"
#include "core/plugin/handles/averaging_handle.hpp"
#include "core/plugin/services/heard_warnings.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

// The average of the members as weights, and the weights of the members where the scheme searched.
struct Average {
  std::shared_ptr<const TensorSource> source;
  std::vector<double> found;
};

Average average_of(Catalog& catalog, const AveragingCell& averaging,
                   std::vector<AverageMember> members,
                   const std::function<double(const std::shared_ptr<const TensorSource>&)>& score) {
  AverageOptions options;
  options.threads = HostServices::instance().threads();
  if (AveragingHandle(catalog, *averaging.plugin, averaging.parameters).searches()) {
    options.weights = search_average(catalog, averaging, members, score, options);
  }
  return {std::make_shared<AverageSource>(catalog, averaging, std::move(members), options),
          options.weights};
}

}  // namespace

std::vector<AverageMember> members_of(const Experiment& experiment, const WeightsCell& weights) {
  std::vector<AverageMember> out;
  for (const size_t member : weights.members) {
    const CheckpointCell& cell = experiment.checkpoints[member];
    out.push_back({cell.revision.empty() ? cell.model : cell.revision, cell.step, cell.tokens, {}});
  }
  return out;
}

namespace {

OpenWeights open_unheard(Catalog& catalog, const Experiment& experiment, const WeightsCell& weights,
                         const OpenFiles& open_files, const ModelScore& score) {
  const CheckpointCell& cell = files_cell(experiment, weights);
  CheckpointFolder folder = open_files(cell);
  const auto open = [&](const std::shared_ptr<const TensorSource>& source) {
    return open_model(catalog, source, folder.config_json, (folder.path / "config.json").string(),
                      cell.family, experiment.dtype, experiment.device);
  };
  if (!weights.averaging || weights.live) {
    ModelHandle model = open(folder.source);
    return {std::move(folder), std::move(model), {}};
  }
  std::vector<AverageMember> members = members_of(experiment, weights);
  for (size_t i = 0; i < members.size(); ++i) {
    members[i].source = open_files(experiment.checkpoints[weights.members[i]]).source;
  }
  spell_alike(catalog, folder.config_json, (folder.path / "config.json").string(), cell.family,
              members);
  Average average =
      average_of(catalog, experiment.averagings[*weights.averaging], std::move(members),
                 [&](const std::shared_ptr<const TensorSource>& source) {
                   ModelHandle model = open(source);
                   return score(model, folder);
                 });
  ModelHandle model = open(average.source);
  return {std::move(folder), std::move(model), std::move(average.found)};
}

}  // namespace

OpenWeights open_weights(Catalog& catalog, const Experiment& experiment, const WeightsCell& weights,
                         const OpenFiles& open_files, const ModelScore& score) {
  const HeardWarnings heard(HeardWarnings::Fate::kByInner);
  OpenWeights out = open_unheard(catalog, experiment, weights, open_files, score);
  out.warnings = heard.lines();
  return out;
}

TokenizerChoice choose_tokenizer(Catalog& catalog, const Experiment& experiment,
                                 const CheckpointCell& cell, const CheckpointFolder& folder) {
  for (const std::string& named : {cell.tokenizer, experiment.tokenizer}) {
    if (!named.empty()) {
      return TokenizerChoice(named, "");
    }
  }
  return TokenizerChoice::of(catalog, folder);
}

}  // namespace quench
