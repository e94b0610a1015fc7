#include "cli/plan_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/amounts.hpp"
#include "cli/answer.hpp"
#include "cli/standard_streams.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"
#include "core/store/record_columns.hpp"

namespace quench {

namespace {

// What one share has.
struct Sum {
  std::vector<std::string> weights;  // their names
  uint64_t cells = 0;
  uint64_t to_do = 0;
  uint64_t cost = 0;
  double part = 0;     // of all costs
  double seconds = 0;  // of what is to do here
  bool trains = false;
};

std::vector<Sum> sums_of(const LoadedRun& run, const Shares& shares, const std::vector<Cell>& cells,
                         const PlanCost& cost) {
  std::vector<Sum> out(shares.count);
  uint64_t total = 0;
  for (size_t i = 0; i < shares.units.size(); ++i) {
    const ShareUnit& unit = shares.units[i];
    Sum& sum = out[shares.share_of[i]];
    sum.cells += unit.cells;
    sum.cost += unit.cost;
    total += unit.cost;
    sum.trains = sum.trains || unit.trained;
    for (const auto& [at, row] : unit.weights) {
      const Experiment& experiment = run.experiments[at];
      std::string point = point_name(experiment);
      if (point.empty() && experiment.job != 0) {
        point = fmt::format("job {}: ", experiment.job);
      }
      sum.weights.push_back(point + weights_name(experiment, experiment.weights[row]));
    }
  }
  const auto share_of = share_of_weights(shares);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].state == CellState::kToDo) {
      Sum& sum = out[share_of.at({cells[i].job, cells[i].weights})];
      ++sum.to_do;
      sum.seconds += cost.cells[i].seconds;
    }
  }
  for (Sum& sum : out) {
    sum.part = total == 0 ? 0 : static_cast<double>(sum.cost) / static_cast<double>(total);
  }
  return out;
}

std::string shown(const std::vector<std::string>& names) {
  constexpr size_t kShownNames = 4;
  if (names.size() <= kShownNames) {
    return fmt::format("{}", fmt::join(names, ", "));
  }
  return fmt::format("{}, ... {}", fmt::join(names.begin(), names.begin() + kShownNames - 1, ", "),
                     names.back());
}

// "98.8 GB", "2.1 GB".
std::string gigabytes(uint64_t bytes) {
  const double value = static_cast<double>(bytes) / 1e9;
  return fmt::format(fmt::runtime(value < 10 ? "{:.1f} GB" : "{:.0f} GB"), value);
}

}  // namespace

std::string point_name(const Experiment& experiment) {
  std::vector<std::string> paths;
  const std::vector<SweepValue> values = sweep_values(experiment.point);
  paths.reserve(values.size());
  for (const auto& [path, value] : values) {
    paths.push_back(path);
  }
  const std::vector<std::string> names = short_paths(paths);
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    out += fmt::format("{}={}, ", names[i], values[i].second.dump());
  }
  return out;
}

void show_shares(const LoadedRun& run, const Shares& shares, const std::vector<Cell>& cells,
                 const PlanCost& cost) {
  nlohmann::json list = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows = {
      {"share", "sets of weights", "cells", "to do here", "cost", "time here", "weights"}};
  for (const Sum& sum : sums_of(run, shares, cells, cost)) {
    const std::string share = fmt::format("{}/{}", rows.size(), shares.count);
    list.push_back({{"share", share},
                    {"weights", sum.weights},
                    {"cells", sum.cells},
                    {"to_do", sum.to_do},
                    {"cost", sum.part},
                    {"seconds", sum.seconds},
                    {"trains", sum.trains}});
    rows.push_back({share, std::to_string(sum.weights.size()), std::to_string(sum.cells),
                    std::to_string(sum.to_do), fmt::format("{:.1f} %", 100 * sum.part),
                    duration_text(sum.seconds), shown(sum.weights)});
  }
  if (answers()) {
    answer({{"name", run.manifest.name}, {"split", shares.id}, {"shares", list}});
    return;
  }
  fmt::print(results(), "{}", aligned_table(rows));
  fmt::print(
      results(),
      "{}: this split is {}; a machine where the same command prints another one divides the work "
      "otherwise\n",
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

void show_jobs(const LoadedRun& run, int64_t only) {
  nlohmann::json list = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows = {{"job", "cells", "point"}};
  const auto add = [&](size_t number, const std::vector<Experiment>& experiments,
                       const nlohmann::json& point) {
    const size_t cells = cells_of(experiments).size();
    list.push_back({{"job", number}, {"cells", cells}, {"point", point}});
    rows.push_back({std::to_string(number), std::to_string(cells),
                    point.is_null() ? "the manifest as it is" : point.dump()});
  };
  const std::vector<StudyJob>& study = run.manifest.study_jobs;
  for (const Experiment& each : study.empty() ? run.experiments : std::vector<Experiment>()) {
    add(each.job, {each}, each.point);
  }
  for (size_t job = 0; job < study.size(); ++job) {
    const auto number = static_cast<int64_t>(job);
    if (only < 0) {
      std::vector<Experiment> one = run.experiments;
      keep_job(run.manifest, one, number);
      add(job, one, study[job].point);
    } else if (only == number) {
      add(job, run.experiments, study[job].point);
    }
  }
  if (answers()) {
    answer({{"name", run.manifest.name}, {"jobs", list}});
  } else {
    print_table(rows, {kWhole, kWhole, {8, 0}});
  }
}

void show_shape_costs(const ShapeCosts& costs) {
  if (answers()) {
    answer({{"revisions", costs.revisions},
            {"download_bytes", costs.download_bytes},
            {"memory_bytes", costs.memory_bytes},
            {"flops", costs.flops},
            {"uncounted", costs.uncounted}});
    return;
  }
  // Rates that are to be expected of a device, for forwards in bfloat16.
  constexpr std::pair<const char*, double> kFlopsPerSecond[] = {
      {"an H100", 4e14}, {"an A100", 1.25e14}, {"32 cores", 1e12}};
  std::vector<std::string> hours;
  for (const auto& [device, rate] : kFlopsPerSecond) {
    const double value = costs.flops / rate / 3600;
    hours.push_back(
        fmt::format(fmt::runtime(value < 10 ? "{:.1f} h on {}" : "{:.0f} h on {}"), value, device));
  }
  fmt::print(
      results(),
      "Downloads: {} revisions, {} by their shapes, and the texts.\n"
      "Memory: about {}.\n"
      "Time: {:.0f} PFLOP{}: {}.\n",
      costs.revisions, gigabytes(costs.download_bytes), gigabytes(costs.memory_bytes),
      costs.flops / 1e15,
      costs.uncounted.empty() ? "" : fmt::format(" without {}", fmt::join(costs.uncounted, ", ")),
      fmt::join(hours, ", "));
}

}  // namespace quench
