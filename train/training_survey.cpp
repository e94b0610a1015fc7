#include "train/training_survey.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/error.hpp"
#include "core/io/sha256.hpp"
#include "core/json/canonical_json.hpp"

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
    out.emplace_back(recipe, branch.schedule);
  }
  return out;
}

namespace {

class Surveyor {
 public:
  Surveyor(const Training& training, const TrainedStates& states)
      : training_(training), states_(states), keys_(state_keys(training)) {}

  std::vector<TrainingLeg> run() {
    // The first branch must leave a state where missing forks begin.
    std::set<int64_t> begins;
    std::vector<TrainingLeg> forks;
    for (size_t i = 1; i < training_.branches.size(); ++i) {
      TrainingLeg leg = missing(i);
      if (leg.to > 0) {
        finish(leg);
        if (leg.from == training_.branches[i].begin) {
          begins.insert(leg.from);
        }
        forks.push_back(std::move(leg));
      }
    }
    std::vector<TrainingLeg> out;
    TrainingLeg first = missing(0);
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
  std::string obstacle_at(const TrainingLeg& leg, int64_t step) const {
    const TrainingBranch& branch = training_.branches[leg.branch];
    if (!leg.checkpoints.empty() && leg.checkpoints.front() <= step) {
      return fmt::format("the checkpoint at step {} does not exist", leg.checkpoints.front());
    }
    if (!leg.states.empty() && leg.states.front() <= step) {
      return fmt::format("the state at step {} does not exist", leg.states.front());
    }
    for (const size_t index : leg.averages) {
      const LiveAverage& average = branch.averages[index];
      const size_t members = members_until(average, step);
      const bool begins_here = members == 1 && average.members.front() == step;
      if (members > 0 && !begins_here &&
          !states_.has_sums(live_average_key(average, keys_[leg.branch]), members)) {
        return fmt::format("the average {} at step {} began at step {}, and its sums do not exist",
                           average.label, average.members.back(), average.members.front());
      }
    }
    return "";
  }

  // The missing outputs of a branch; to = 0 if none are missing.
  TrainingLeg missing(size_t index) const {
    const TrainingBranch& branch = training_.branches[index];
    const StateKeys& keys = keys_[index];
    TrainingLeg leg;
    leg.branch = index;
    for (const int64_t step : branch.checkpoints) {
      if (!states_.has_weights(keys.at(step))) {
        leg.checkpoints.push_back(step);
        leg.to = step;
      }
    }
    for (size_t i = 0; i < branch.averages.size(); ++i) {
      if (!states_.has_weights(live_average_key(branch.averages[i], keys))) {
        leg.averages.push_back(i);
        leg.to = std::max(leg.to, branch.averages[i].members.back());
      }
    }
    return leg;
  }

  // Finds the latest state from which everything missing can still be made.
  void finish(TrainingLeg& leg) const {
    const TrainingBranch& branch = training_.branches[leg.branch];
    std::sort(leg.states.begin(), leg.states.end());
    // A fork that is trained later will find the state at its beginning.
    const int64_t sure = leg.branch == 0 ? 0 : branch.begin;
    for (leg.from = leg.to; leg.from > sure; --leg.from) {
      if (!states_.has_state(keys_[leg.branch].at(leg.from))) {
        continue;
      }
      std::string obstacle = obstacle_at(leg, leg.from);
      if (obstacle.empty()) {
        break;
      }
      if (leg.passed_over == 0) {
        leg.passed_over = leg.from;
        leg.reason = std::move(obstacle);
      }
    }
    if (leg.to == branch.steps() && (leg.states.empty() || leg.states.back() != branch.steps())) {
      leg.states.push_back(branch.steps());
    }
  }

  const Training& training_;
  const TrainedStates& states_;
  std::vector<StateKeys> keys_;
};

}  // namespace

std::vector<TrainingLeg> survey_training(const Training& training, const TrainedStates& states) {
  return Surveyor(training, states).run();
}

}  // namespace quench
