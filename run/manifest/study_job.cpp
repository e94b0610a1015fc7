#include "run/manifest/study_job.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"

namespace quench {

bool is_study_file(const YamlNode& root) {
  const auto has = [&](const char* key) { return root.find(key) != nullptr; };
  return !has("checkpoints") && !has("metrics") &&
         ((has("repo_origin") && has("q_bits")) || (has("quantized_paths") && has("fp_paths")));
}

StudyManifest study_manifest(const nlohmann::json& read) {
  StudyManifest out{read.at("manifest").get<std::string>(), {}};
  for (const nlohmann::json& each : read.at("jobs")) {
    StudyJob& job = out.jobs.emplace_back();
    for (const nlohmann::json& checkpoint : each.at("checkpoints")) {
      job.checkpoints.push_back(
          {checkpoint.at(0).get<std::string>(), checkpoint.at(1).get<std::string>()});
    }
    job.average = each.at("average").get<std::string>();
    job.quantizer = each.at("quantizer");
    job.point = each.at("point");
  }
  return out;
}

namespace {

bool is_of_job(const Experiment& experiment, const WeightsCell& weights, const StudyJob& job) {
  if (weights.averaging) {
    return experiment.averagings[*weights.averaging].label == job.average;
  }
  const CheckpointCell& cell = experiment.checkpoints[weights.checkpoint];
  return job.average.empty() &&
         std::find(job.checkpoints.begin(), job.checkpoints.end(),
                   StudyCheckpoint{cell.model, cell.revision}) != job.checkpoints.end();
}

bool is_of_job(const QuantizerCell& cell, const StudyJob& job) {
  if (!job.quantizer.is_object()) {
    return false;
  }
  for (const auto& [key, value] : job.quantizer.items()) {
    const auto found = cell.parameters.find(key);
    if (found == cell.parameters.end() || *found != value) {
      return false;
    }
  }
  return true;
}

// Removes the checkpoints that no weights need; the others get new indices.
void drop_checkpoints(Experiment& experiment) {
  std::map<size_t, size_t> kept;  // old index, new index
  for (const WeightsCell& weights : experiment.weights) {
    kept[weights.checkpoint] = 0;
    for (const size_t member : weights.members) {
      kept[member] = 0;
    }
  }
  std::vector<CheckpointCell> checkpoints;
  for (auto& [before, now] : kept) {
    now = checkpoints.size();
    checkpoints.push_back(std::move(experiment.checkpoints[before]));
  }
  experiment.checkpoints = std::move(checkpoints);
  for (WeightsCell& weights : experiment.weights) {
    weights.checkpoint = kept.at(weights.checkpoint);
    for (size_t& member : weights.members) {
      member = kept.at(member);
    }
  }
  for (Branch& branch : experiment.branches) {
    const auto fork = branch.fork ? kept.find(*branch.fork) : kept.end();
    branch.fork = fork != kept.end() ? std::optional(fork->second) : std::nullopt;
  }
}

}  // namespace

void keep_study_job(Experiment& experiment, const StudyJob& job) {
  std::erase_if(experiment.weights,
                [&](const WeightsCell& weights) { return !is_of_job(experiment, weights, job); });
  std::erase_if(experiment.quantizers,
                [&](const QuantizerCell& cell) { return !is_of_job(cell, job); });
  if (experiment.weights.empty() || (job.quantizer.is_object() && experiment.quantizers.empty())) {
    fail(QUENCH_INVALID_ARGUMENT,
         "--job_idx: the manifest has nothing of this job; --set may have removed it");
  }
  drop_checkpoints(experiment);
}

}  // namespace quench
