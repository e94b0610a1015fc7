// quench plan MANIFEST: what would run, what exists already, why, and what it will cost.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/amounts.hpp"
#include "cli/answer.hpp"
#include "cli/manifest_options.hpp"
#include "cli/plan_views.hpp"
#include "cli/standard_streams.hpp"
#include "cli/storage.hpp"
#include "cli/strict_option.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"
#include "core/base/json/or_null.hpp"
#include "core/base/process/shell_word.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/names.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/sealed_folder.hpp"
#include "run/check_experiment.hpp"
#include "run/grid/expected_run.hpp"
#include "run/grid/peak_memory.hpp"
#include "run/grid/training_cost.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kShownCells = 60;  // sums up further cells, unless --all

struct PlanOptions {
  ManifestOptions manifest;
  std::string shapes;
  bool all = false;
  bool jobs = false;
  uint64_t shares = 0;  // 0: not asked for
};

using Rows = std::vector<std::vector<std::string>>;

// What a part of the plan consists of: in the document of --json, or as rows of a table.
struct Listing {
  nlohmann::json list = nlohmann::json::array();
  Rows rows;
};

// Lines of one state and reason; "config of step30 not read yet" of many checkpoints is one reason.
class SummedReason {
 public:
  SummedReason(std::string state, const std::string& reason) : state_(std::move(state)) {
    const size_t of = reason.find(kOf);
    const bool names_one = of != std::string::npos && reason.ends_with(kUnread) &&
                           of + kOf.size() + kUnread.size() < reason.size();
    what_ = names_one ? reason.substr(0, of) : reason;
    names_one_ = names_one;
  }

  bool is_like(const SummedReason& other) const {
    return state_ == other.state_ && what_ == other.what_ && names_one_ == other.names_one_;
  }
  void add(const std::string& reason) {
    ++count_;
    if (names_one_) {
      const size_t from = what_.size() + kOf.size();
      std::string name = reason.substr(from, reason.size() - from - kUnread.size());
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
        names_.push_back(std::move(name));
      }
    }
  }

  size_t count() const { return count_; }
  const std::string& state() const { return state_; }
  std::string text() const {
    constexpr size_t kMostNames = 3;
    return names_one_
               ? fmt::format("{}{}{}{}", what_, kOf, first_of_names(names_, kMostNames), kUnread)
               : what_;
  }

 private:
  static constexpr std::string_view kOf = " of ";
  static constexpr std::string_view kUnread = " not read yet";

  std::string state_;
  std::string what_;
  bool names_one_ = false;
  std::vector<std::string> names_;
  size_t count_ = 0;
};

// Rows of a name, a state, perhaps further columns, and a reason, in a table that gives way at the
// reasons first. More than kShownCells are summed up by state and reason, unless `all` is set.
void print_states(const std::vector<std::string>& titles, const std::string& plural,
                  const Rows& lines, bool all) {
  std::vector<ColumnFit> fits(titles.size(), kWhole);
  fits.back() = {10, 1};
  if (all || lines.size() <= kShownCells) {
    Rows rows = {titles};
    rows.insert(rows.end(), lines.begin(), lines.end());
    fits.front() = {12, 0};
    print_table(rows, fits);
    return;
  }
  // In the order of the cells, which is that of the training, not of the names' letters.
  std::vector<SummedReason> summed;
  for (const std::vector<std::string>& line : lines) {
    SummedReason one(line[1], line.back());
    const auto known = std::find_if(summed.begin(), summed.end(),
                                    [&](const SummedReason& each) { return each.is_like(one); });
    (known != summed.end() ? *known : summed.emplace_back(std::move(one))).add(line.back());
  }
  Rows rows = {{plural, "state", "why"}};
  for (const SummedReason& each : summed) {
    rows.push_back({std::to_string(each.count()), each.state(), each.text()});
  }
  print_table(rows, {kWhole, kWhole, {10, 1}});
}

nlohmann::json cost_json(const Cost& cost) {
  return {{"flops", cost.flops},
          {"bytes", cost.bytes},
          {"peak_memory_bytes", cost.memory},
          {"device_peak_memory_bytes", cost.device},
          {"device_peak_memory_by_block_bytes", cost.device_by_block},
          {"seconds", cost.seconds},
          {"basis", to_text(cost.basis)}};
}

nlohmann::json checkpoints_json(const LoadedRun& run) {
  nlohmann::json out = nlohmann::json::array();
  if (run.experiments.empty()) {
    return out;
  }
  for (const CheckpointCell& cell : run.experiments.front().checkpoints) {
    out.push_back({{"model", cell.model},
                   {"revision", cell.revision},
                   {"branch", cell.branch},
                   {"step", or_null(cell.step)},
                   {"tokens", or_null(cell.tokens)},
                   {"lr", or_null(cell.learning_rate)}});
  }
  return out;
}

Listing training_listing(const LoadedRun& run, const std::vector<TrainingCost>& training) {
  Listing out;
  const std::vector<size_t> trained = trainings_of(run.experiments);
  for (size_t i = 0; i < training.size(); ++i) {
    const TrainingCost& cost = training[i];
    const std::string point = training.size() > 1 ? point_name(run.experiments[trained[i]]) : "";
    nlohmann::json segments = nlohmann::json::array();
    for (const SegmentCost& segment : cost.segments) {
      segments.push_back({{"branch", segment.branch},
                          {"from", segment.from},
                          {"to", segment.to},
                          {"tokens", segment.tokens},
                          {"flops", segment.flops},
                          {"seconds", segment.seconds}});
      out.rows.push_back({point + (segment.branch.empty() ? "the run" : segment.branch),
                          fmt::format("{}..{}", segment.from, segment.to),
                          fmt::format("{:.3g}", static_cast<double>(segment.tokens)),
                          duration_text(segment.seconds)});
    }
    out.list.push_back({{"segments", segments},
                        {"parameters", cost.parameters},
                        {"tokens", cost.tokens},
                        {"flops", cost.flops},
                        {"seconds", cost.seconds},
                        {"memory_bytes", cost.memory},
                        {"basis", to_text(cost.basis)}});
  }
  return out;
}

void print_training(const std::vector<TrainingCost>& training, Rows rows) {
  if (rows.empty()) {
    return;
  }
  rows.insert(rows.begin(), {"training", "steps", "tokens", "time"});
  print_table(rows, {{8, 0}, kWhole, kWhole, kWhole});
  // One that is there already has no size.
  const TrainingCost& largest = *std::max_element(
      training.begin(), training.end(),
      [](const TrainingCost& a, const TrainingCost& b) { return a.memory < b.memory; });
  print_line("training: {:.3g} parameters, at least {} of memory, {}\n",
             static_cast<double>(largest.parameters), bytes_text(largest.memory),
             to_text(largest.basis));
}

// Exports that their format cannot hold, with the reasons; their quantizers are still measured.
std::map<std::string, std::string> refused_exports(const LoadedRun& run) {
  std::map<std::string, std::string> out;
  for (const Experiment& experiment : run.experiments) {
    for (const QuantizerCell& cell : experiment.quantizers) {
      if (!cell.export_refused.empty()) {
        out[cell.label] = cell.export_refused;
      }
    }
  }
  return out;
}

// Whether the memory of its passes is worth loading its plugins for: on a GPU, or if some model
// that is known takes more than 128 MiB.
bool is_large(const Experiment& experiment, Identities& identities) {
  constexpr uint64_t kLarge = uint64_t{128} << 20;
  return experiment.device.type != QUENCH_DEVICE_CPU ||
         std::any_of(experiment.weights.begin(), experiment.weights.end(),
                     [&](const WeightsCell& weights) {
                       const auto known = identities.remembered(files_cell(experiment, weights));
                       return known && known->parameters * dtype_size(experiment.dtype) > kLarge;
                     });
}

// Metrics that predict their memory, with the maximum over all points.
std::map<std::string, uint64_t> metrics_by_memory(const LoadedRun& run,
                                                  const std::vector<MetricMemory>& memory) {
  std::map<std::string, uint64_t> out;
  for (size_t job = 0; job < memory.size(); ++job) {
    for (size_t m = 0; m < memory[job].peaks.size(); ++m) {
      if (const uint64_t bytes = memory[job].peaks[m].all; bytes > 0) {
        uint64_t& most = out[run.experiments[job].metrics[m].label];
        most = std::max(most, bytes);
      }
    }
  }
  return out;
}

// State and reason of a folder of weights that the run writes beside its results: "written", "to
// write", "to replace", "in the way", "not known yet".
std::pair<std::string, std::string> folder_state(const Experiment& experiment, const RowFolder& row,
                                                 Identities& identities) {
  const RowSurvey row_survey = survey_row(experiment, row, identities);
  const FolderSurvey& there = row_survey.there;
  if (there.state == FolderState::kAbsent) {
    return {"to write", ""};
  }
  if (!row_survey.made_from) {
    return {"not known yet", row_survey.missing};
  }
  return row_survey.is_current()                ? std::pair<std::string, std::string>("written", "")
         : there.state == FolderState::kForeign ? std::pair("in the way", there.reason)
                                                : std::pair("to replace", there.reason);
}

Listing folders_listing(const LoadedRun& run, Identities& identities) {
  const FolderPlaces places = folder_places(run.folder);
  as_usage([&] { check_row_folders(run.experiments, places); });
  Listing out;
  for (const Experiment& experiment : run.experiments) {
    for (const RowFolder& row : row_folders(experiment, places)) {
      const auto [state, reason] = folder_state(experiment, row, identities);
      out.list.push_back({{"what", folder_row_name(experiment, row)},
                          {"folder", row.path.string()},
                          {"state", state},
                          {"reason", reason}});
      out.rows.push_back({row.path.string(), state, reason});
    }
  }
  return out;
}

// What the hub's messages end with; `plan` says it once, of the manifest.
constexpr std::string_view kFetchIt = "; get it with: quench fetch ";

// Fills the list or the rows: there may be many.
Listing cells_listing(const LoadedRun& run, const std::vector<Cell>& cells, const PlanCost& cost) {
  Listing out;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const Experiment& experiment = run.experiments[cell.job];
    const bool to_do = cell.state == CellState::kToDo;
    if (!answers()) {
      const double seconds = to_do ? cost.cells[i].seconds : 0;  // 0: of a model of unknown size
      out.rows.push_back({point_name(experiment) + cell_name(experiment, cell), to_text(cell.state),
                          seconds > 0 ? duration_text(seconds) : "",
                          cell.reason.substr(0, cell.reason.find(kFetchIt))});
      continue;
    }
    out.list.push_back({{"cell", cell_name(experiment, cell)},
                        {"job", experiment.job},
                        {"state", to_text(cell.state)},
                        {"reason", cell.reason},
                        {"key", or_null(cell.key)}});
    if (to_do) {
      out.list.back()["cost"] = cost_json(cost.cells[i]);
    }
  }
  return out;
}

// One time for a run that trains and measures.
void print_whole(const std::vector<TrainingCost>& training, const Cost& cells) {
  double seconds = cells.seconds;
  Basis basis = cells.basis;
  bool any = false;
  for (const TrainingCost& cost : training) {
    any = any || cost.seconds > 0;
    seconds += cost.seconds;
    basis = std::max(basis, cost.basis);
  }
  if (any) {
    print_line("whole run: {} ({})", duration_text(seconds), to_text(basis));
  }
}

// What `run --fetch` would hold of the hub's weights, where the manifest has `storage`. Throws
// UsageError for a limit that is too small.
std::optional<StorageForecast> storage_of(const LoadedRun& run, const std::vector<Cell>& cells,
                                          RunKnowledge& knowledge, const Context& context) {
  if (!run.manifest.storage) {
    return std::nullopt;
  }
  const StorageNeeds needs =
      storage_needs(run.experiments, cells, folder_places(run.folder), knowledge.identities);
  StorageForecast out = forecast_storage(run, *run.manifest.storage, needs,
                                         remembered_sizes(needs, knowledge.fingerprints),
                                         hub_cache_root(context.hub_environment));
  check_limit(out);
  return out;
}

int plan(const PlanOptions& options, Context& context) {
  context.apply_threads();
  const LoadedRun run = load_run(options.manifest, context);
  if (options.jobs) {
    show_jobs(run, options.manifest.job);
    return kExitOk;
  }
  if (!options.shapes.empty()) {
    show_shape_costs(
        as_usage([&] { return shape_costs(context.catalog(), run.experiments, options.shapes); }));
    return kExitOk;
  }
  as_usage([&] {
    check_planned(context.catalog(), run.experiments, context.hub(), Fingerprints(context.home()));
  });
  RunKnowledge knowledge = knowledge_of(run, context);
  const Rates rates(context.home());
  const std::vector<Cell> cells = knowledge.survey(run.experiments);
  as_usage([&] {
    check_kept_text(context.catalog(), run.experiments, cells, context.home(), context.hub());
  });
  const Listing folders = folders_listing(run, knowledge.identities);
  std::vector<MetricMemory> memory =
      predict_metric_memory(context.catalog(), run.experiments, context.hub());
  const std::optional<StorageForecast> storage = storage_of(run, cells, knowledge, context);
  std::vector<std::vector<PassPeak>> peaks;
  for (const Experiment& experiment : run.experiments) {
    peaks.push_back(is_large(experiment, knowledge.identities)
                        ? predict_pass_peaks(context.catalog(), experiment, context.hub())
                        : std::vector<PassPeak>());
  }
  const uint32_t threads = HostServices::instance().threads();
  const std::vector<TrainingCost> training = as_usage([&] {
    return training_of(context.catalog(), run.experiments, context.home(), rates, threads);
  });
  add_trained_sizes(run.experiments, training, memory);
  const PlanCost cost =
      estimate(run.experiments, cells, knowledge.identities, rates, threads, memory, peaks);
  if (options.shares > 0) {
    show_shares(run, make_shares(context.catalog(), run.experiments, context.hub(), options.shares),
                cells, cost);
    return kExitOk;
  }
  std::map<std::string, size_t> counts;
  for (const Cell& cell : cells) {
    ++counts[to_text(cell.state)];
  }
  const Listing trained = training_listing(run, training);
  const Listing planned = cells_listing(run, cells, cost);
  if (answers()) {
    nlohmann::json refused = nlohmann::json::array();
    for (const auto& [label, why] : refused_exports(run)) {
      refused.push_back({{"quantizer", label}, {"reason", why}});
    }
    answer({{"name", run.manifest.name},
            {"exports_refused", refused},
            {"folder", run.folder.string()},
            {"folders", folders.list},
            {"checkpoints", checkpoints_json(run)},
            {"storage", storage ? to_json(*storage) : nlohmann::json()},
            {"training", trained.list},
            {"counts", counts},
            {"total", cost_json(cost.total)},
            {"cells", planned.list}});
    return kExitOk;
  }
  print_training(training, trained.rows);
  print_states({"cell", "state", "time", "why"}, "cells", planned.rows, options.all);
  if (!folders.rows.empty()) {
    print_states({"folder", "state", "why"}, "folders", folders.rows, options.all);
  }
  for (const auto& [label, why] : refused_exports(run)) {
    print_line("measured but not exported: {}: {}", label, why);
  }
  for (const auto& [label, bytes] : metrics_by_memory(run, memory)) {
    print_line("{}: about {} of memory besides the model", label, bytes_text(bytes));
  }
  if (storage) {
    print(*storage, options.manifest.manifest);
  }
  std::vector<std::string> states;
  states.reserve(counts.size());
  for (const auto& [state, count] : counts) {
    states.push_back(fmt::format("{} {}", count, state));
  }
  print_line("{}: {} cells: {}", run.manifest.name, cells.size(), fmt::join(states, ", "));
  if (std::any_of(cells.begin(), cells.end(), [](const Cell& cell) {
        return cell.reason.find(kFetchIt) != std::string::npos;
      })) {
    print_line("get what is missing with: quench fetch {}", shell_word(options.manifest.manifest));
  }
  if (counts.contains("to do") && cost.total.flops > 0) {
    print_line(
        "to do: {} ({}), {:.3g} floating-point operations, {} of weights to read, about {} "
        "of memory",
        duration_text(cost.total.seconds), to_text(cost.total.basis), cost.total.flops,
        bytes_text(cost.total.bytes), bytes_text(cost.total.memory));
  }
  if (cost.total.device > 0) {
    print_line("on the GPU: about {} with the whole model there, {} block by block",
               bytes_text(cost.total.device), bytes_text(cost.total.device_by_block));
  }
  print_whole(training, cost.total);
  return kExitOk;
}

}  // namespace

int plan_run(const ManifestOptions& manifest, Context& context) {
  PlanOptions options;
  options.manifest = manifest;
  return plan(options, context);
}

void add_plan(Verb& verb, Context& context) {
  verb.examples({"quench plan m.yaml", "quench plan m.yaml --all --set dtype=float64",
                 "quench plan m.yaml --shares 3",
                 "quench plan configs/experiments/amber.yaml --shapes configs/models"});
  auto options = std::make_shared<PlanOptions>();
  add_manifest_options(verb, context, options->manifest);
  verb.flag("--all", options->all, "List every cell");
  verb.option("--shapes", options->shapes,
              "Only costs, from the config.json files DIR/ORG/NAME.json of the hub's models")
      .placeholder("DIR");
  const Option share = add_share_option(verb, options->manifest);
  const Option shares =
      verb.option("--shares", options->shares,
                  "Show how `quench run --share I/N` splits the work into N shares")
          .between(1, kMostShares)
          .placeholder("N");
  const Option jobs = verb.flag("--jobs", options->jobs,
                                "List the points of the sweep, or jobs, with their numbers");
  verb.exclusive({share, shares, jobs});
  add_strict_option(verb);
  add_thread_option(verb, context);
  verb.does([&context, options] { return plan(*options, context); });
}

}  // namespace quench
