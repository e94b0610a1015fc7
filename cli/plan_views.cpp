#include "cli/plan_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cli/answer.hpp"
#include "cli/duration.hpp"
#include "cli/standard_streams.hpp"
#include "cli/table.hpp"

namespace quench {

namespace {

constexpr size_t kShownNames = 4;

// What one share has.
struct Sum {
  std::vector<std::string> weights;  // their names
  uint64_t cells = 0;
  uint64_t to_do = 0;
  uint64_t cost = 0;
  double seconds = 0;  // of what is to do here
  bool trains = false;
};

std::vector<Sum> sums_of(const LoadedRun& run, const Shares& shares, const std::vector<Cell>& cells,
                         const PlanCost& cost) {
  std::vector<Sum> out(shares.count);
  const auto share_of = share_of_weights(shares);
  for (size_t i = 0; i < shares.units.size(); ++i) {
    const ShareUnit& unit = shares.units[i];
    Sum& sum = out[shares.share_of[i]];
    sum.cells += unit.cells;
    sum.cost += unit.cost;
    sum.trains = sum.trains || unit.trained;
    for (const auto& [at, row] : unit.weights) {
      const Experiment& experiment = run.experiments[at];
      sum.weights.push_back(
          (experiment.job == 0 ? std::string() : fmt::format("job {}: ", experiment.job)) +
          weights_name(experiment, experiment.weights[row]));
    }
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].state == CellState::kToDo) {
      Sum& sum = out[share_of.at({cells[i].job, cells[i].weights})];
      ++sum.to_do;
      sum.seconds += cost.cells[i].seconds;
    }
  }
  return out;
}

double part(const Sum& sum, const std::vector<Sum>& all) {
  const uint64_t total =
      std::accumulate(all.begin(), all.end(), uint64_t{0},
                      [](uint64_t before, const Sum& each) { return before + each.cost; });
  return total == 0 ? 0 : static_cast<double>(sum.cost) / static_cast<double>(total);
}

std::string shown(const std::vector<std::string>& names) {
  if (names.size() <= kShownNames) {
    return fmt::format("{}", fmt::join(names, ", "));
  }
  return fmt::format("{}, ... {}", fmt::join(names.begin(), names.begin() + kShownNames - 1, ", "),
                     names.back());
}

}  // namespace

void print_shares(const LoadedRun& run, const Shares& shares, const std::vector<Cell>& cells,
                  const PlanCost& cost) {
  const std::vector<Sum> sums = sums_of(run, shares, cells, cost);
  std::vector<std::vector<std::string>> rows = {
      {"share", "sets of weights", "cells", "to do here", "cost", "time here", "weights"}};
  for (size_t i = 0; i < sums.size(); ++i) {
    const Sum& sum = sums[i];
    rows.push_back({fmt::format("{}/{}", i + 1, shares.count), std::to_string(sum.weights.size()),
                    std::to_string(sum.cells), std::to_string(sum.to_do),
                    fmt::format("{:.1f} %", 100 * part(sum, sums)), duration_text(sum.seconds),
                    shown(sum.weights)});
  }
  fmt::print(results(), "{}", aligned_table(rows));
  fmt::print(results(), "{}: split {}; a machine that prints another one splits otherwise\n",
             run.manifest.name, shares.id);
  const auto dearest =
      std::max_element(shares.units.begin(), shares.units.end(),
                       [](const ShareUnit& a, const ShareUnit& b) { return a.cost < b.cost; });
  if (dearest != shares.units.end() && dearest->trained) {
    const auto trainings = std::count_if(shares.units.begin(), shares.units.end(),
                                         [](const ShareUnit& unit) { return unit.trained; });
    fmt::print(results(),
               "what one training makes stays in one share, so that nothing is trained twice: {} "
               "{} to share\n",
               trainings, trainings == 1 ? "training" : "trainings");
  }
}

void answer_shares(const LoadedRun& run, const Shares& shares, const std::vector<Cell>& cells,
                   const PlanCost& cost) {
  const std::vector<Sum> sums = sums_of(run, shares, cells, cost);
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < sums.size(); ++i) {
    list.push_back({{"share", fmt::format("{}/{}", i + 1, shares.count)},
                    {"weights", sums[i].weights},
                    {"cells", sums[i].cells},
                    {"to_do", sums[i].to_do},
                    {"cost", part(sums[i], sums)},
                    {"seconds", sums[i].seconds},
                    {"trains", sums[i].trains}});
  }
  answer({{"name", run.manifest.name}, {"split", shares.id}, {"shares", list}});
}

}  // namespace quench
