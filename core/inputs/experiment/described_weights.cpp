#include "core/inputs/experiment/described_weights.hpp"

#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kMaxName = 4096;  // bytes of a path or revision in a record

template <typename T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

}  // namespace

nlohmann::json describe_checkpoint(const Experiment& experiment, const CheckpointCell& cell,
                                   const std::string& commit) {
  std::string parent;
  std::string mark;
  for (const Branch& branch : experiment.branches) {
    if (branch.name == cell.branch) {
      parent = branch.parent;
      mark = branch.mark;
    }
  }
  return {{"model", printable(cell.model, kMaxName)},
          {"revision", or_null(printable(cell.revision, kMaxName))},
          {"commit", or_null(commit)},
          {"branch", or_null(cell.branch)},
          {"parent", or_null(parent)},
          {"mark", or_null(mark)},
          {"step", or_null(cell.step)},
          {"tokens", or_null(cell.tokens)},
          {"lr", or_null(cell.learning_rate)},
          {"phase", or_null(cell.phase)}};
}

nlohmann::json describe_averaging(const Experiment& experiment, const WeightsCell& weights) {
  if (!weights.averaging) {
    return nullptr;
  }
  const AveragingCell& cell = experiment.averagings[*weights.averaging];
  nlohmann::json members = nlohmann::json::array();
  for (const size_t member : weights.members) {
    const CheckpointCell& checkpoint = experiment.checkpoints[member];
    members.push_back(
        printable(checkpoint.revision.empty() ? checkpoint.model : checkpoint.revision, kMaxName));
  }
  for (const std::string& member : weights.live_members) {
    members.push_back(member);
  }
  return {{"id", cell.plugin->id},           {"params", cell.parameters},     {"label", cell.label},
          {"version", cell.plugin->version}, {"sha256", cell.plugin->sha256}, {"members", members}};
}

}  // namespace quench
