#include "train/training_survey.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/error.hpp"

namespace quench {

std::string live_average_key(const LiveAverage& average, const StateKeys& keys) {
  nlohmann::json members = nlohmann::json::array();
  for (const int64_t step : average.members) {
    members.push_back(keys.at(step));
  }
  return sha256_hex(canonical_json({{"average", average.plugin->id},
                                    {"code", average.plugin->code},
                                    {"params", average.parameters},
                                    {"members", members}}));
}

size_t members_until(const LiveAverage& average, int64_t step) {
  return static_cast<size_t>(
      std::upper_bound(average.members.begin(), average.members.end(), step) -
      average.members.begin());
}

std::vector<StateKeys> state_keys(const Training& training) {
  const std::string recipe = recipe_key(training.recipe);
  std::vector<StateKeys> out;
  for (const TrainingBranch& branch : training.branches) {
    std::string change;
    if (branch.order) {
      change += fmt::format("order {} ", *branch.order);
    }
    if (branch.optimizer) {
      change += fmt::format("optimizer {} ", optimizer_key(*branch.optimizer));
    }
    out.emplace_back(
        recipe, branch.schedule,
        change.empty() ? std::nullopt : std::optional(RecipeChange{branch.begin, change}));
  }
  return out;
}

namespace {

class Surveyor {
 public:
  Surveyor(const Training& training, const TrainedStates& states)
      : training_(training), states_(states), keys_(state_keys(training)) {}

  std::vector<TrainingSegment> run() {
    // The first branch must leave a state where missing forks begin.
    std::set<int64_t> begins;
    std::vector<TrainingSegment> forks;
    for (size_t i = 1; i < training_.branches.size(); ++i) {
      TrainingSegment segment = missing(i);
      if (segment.to > 0) {
        finish(segment);
        if (segment.from == training_.branches[i].begin) {
          begins.insert(segment.from);
        }
        forks.push_back(std::move(segment));
      }
    }
    std::vector<TrainingSegment> out;
    TrainingSegment first = missing(0);
    for (const int64_t begin : begins) {
      if (begin > 0 && !states_.has_state(keys_[0].at(begin))) {
        first.states.push_back(begin);
        first.to = std::max(first.to, begin);
      }
    }
    if (first.to > 0) {
      finish(first);
      out.push_back(std::move(first));
    }
    std::move(forks.begin(), forks.end(), std::back_inserter(out));
    return out;
  }

 private:
  // Why the missing outputs cannot all be made from the state after `step`, or "".
  std::string obstacle_at(const TrainingSegment& segment, int64_t step) const {
    const TrainingBranch& branch = training_.branches[segment.branch];
    if (!segment.checkpoints.empty() && segment.checkpoints.front() <= step) {
      return fmt::format("the checkpoint at step {} does not exist", segment.checkpoints.front());
    }
    if (!segment.states.empty() && segment.states.front() <= step) {
      return fmt::format("the state at step {} does not exist", segment.states.front());
    }
    for (const size_t index : segment.averages) {
      const LiveAverage& average = branch.averages[index];
      const size_t members = members_until(average, step);
      const bool begins_here = members == 1 && average.members.front() == step;
      if (members > 0 && !begins_here &&
          !states_.has_sums(live_average_key(average, keys_[segment.branch]), members)) {
        return fmt::format("the average {} at step {} began at step {}, and its sums do not exist",
                           average.label, average.members.back(), average.members.front());
      }
    }
    return "";
  }

  // The missing outputs of a branch; to = 0 if none are missing.
  TrainingSegment missing(size_t index) const {
    const TrainingBranch& branch = training_.branches[index];
    const StateKeys& keys = keys_[index];
    TrainingSegment segment;
    segment.branch = index;
    for (const int64_t step : branch.checkpoints) {
      if (!states_.has_weights(keys.at(step))) {
        segment.checkpoints.push_back(step);
        segment.to = step;
      }
    }
    for (size_t i = 0; i < branch.averages.size(); ++i) {
      if (!states_.has_weights(live_average_key(branch.averages[i], keys))) {
        segment.averages.push_back(i);
        segment.to = std::max(segment.to, branch.averages[i].members.back());
      }
    }
    return segment;
  }

  // Finds the latest state from which everything missing can still be made.
  void finish(TrainingSegment& segment) const {
    const TrainingBranch& branch = training_.branches[segment.branch];
    std::sort(segment.states.begin(), segment.states.end());
    // A fork that is trained later will find the state at its beginning.
    const int64_t sure = segment.branch == 0 ? 0 : branch.begin;
    for (segment.from = segment.to; segment.from > sure; --segment.from) {
      if (!states_.has_state(keys_[segment.branch].at(segment.from))) {
        continue;
      }
      std::string obstacle = obstacle_at(segment, segment.from);
      if (obstacle.empty()) {
        break;
      }
      if (segment.passed_over == 0) {
        segment.passed_over = segment.from;
        segment.reason = std::move(obstacle);
      }
    }
    if (segment.to == branch.steps() &&
        (segment.states.empty() || segment.states.back() != branch.steps())) {
      segment.states.push_back(branch.steps());
    }
  }

  const Training& training_;
  const TrainedStates& states_;
  std::vector<StateKeys> keys_;
};

}  // namespace

std::vector<TrainingSegment> survey_training(const Training& training,
                                             const TrainedStates& states) {
  return Surveyor(training, states).run();
}

}  // namespace quench
