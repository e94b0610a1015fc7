// quench adopt MANIFEST --plugin ID: a rebuilt plugin computes what the old build did, so its old
// records count again.
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "cli/manifest_options.hpp"
#include "cli/progress.hpp"
#include "cli/standard_streams.hpp"
#include "core/store/difference.hpp"
#include "core/store/record_schema.hpp"
#include "run/runner.hpp"

namespace quench {

namespace {

struct AdoptOptions {
  ManifestOptions manifest;
  std::string plugin;
  std::string reason;
  uint32_t cells = 3;
};

// A cell that is to do only because the plugin's binary is another one.
struct Candidate {
  Cell cell;
  std::string old_key;
};

struct Builds {
  std::string kind;
  std::string old_sha256;
  std::string new_sha256;
};

// Part names that hold plugins, and the kinds they are of.
const std::vector<std::pair<std::string, std::string>> kKinds = {
    {"family", "model"},        {"averaging", "averaging"},         {"quantizer", "quantizer"},
    {"transform", "transform"}, {"calibration.judge", "quantizer"}, {"metric", "metric"}};

// The builds when nothing but the binary of plugin `id` differs, else nothing.
std::optional<Builds> only_rebuilt(const std::string& id, const nlohmann::json& was,
                                   const nlohmann::json& is) {
  std::optional<Builds> out;
  for (const Difference& difference : explain_difference(was, is)) {
    const auto part = std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& known) {
      return difference.path == known.first + ".sha256";
    });
    if (part == kKinds.end()) {
      return std::nullopt;
    }
    const nlohmann::json::json_pointer at(
        "/" + std::string(part->first == "calibration.judge" ? "calibration/judge" : part->first) +
        "/id");
    if (is.at(at) != id) {
      return std::nullopt;
    }
    out = Builds{part->second, difference.was.get<std::string>(), difference.is.get<std::string>()};
  }
  return out;
}

std::vector<Candidate> candidates(const LoadedRun& run, RunKnowledge& knowledge,
                                  const std::string& plugin, std::optional<Builds>& builds) {
  std::vector<Candidate> out;
  for (Cell& cell : survey(run.experiments, knowledge.identities, knowledge.finished, {})) {
    if (cell.state != CellState::kToDo) {
      continue;
    }
    const Experiment& experiment = run.experiments[cell.job];
    const nlohmann::json* was = knowledge.finished.nearest(cell_name(experiment, cell));
    std::string missing;
    const auto is =
        evaluation_parts(knowledge.identities, parts_of(experiment, cell), false, missing);
    const auto found = was != nullptr && is ? only_rebuilt(plugin, *was, *is) : std::nullopt;
    // One pair of builds at a time: a plugin rebuilt twice is adopted in two steps.
    if (found && (!builds || builds->old_sha256 == found->old_sha256)) {
      builds = found;
      out.push_back({std::move(cell), content_key(*was)});
    }
  }
  return out;
}

// The experiment cut down to one set of weights and one quantizer.
Experiment cut_down(const Experiment& experiment, const Cell& cell) {
  Experiment out = experiment;
  out.weights = {experiment.weights[cell.weights]};
  out.metrics = {experiment.metrics[cell.metric]};
  out.quantizers.clear();
  if (cell.variant.quantizer) {
    out.quantizers = {experiment.quantizers[*cell.variant.quantizer]};
    out.quantizers[0].replicates.jitter = 0;
    out.quantizers[0].replicates.at = {experiment.checkpoints.size()};  // nowhere: draw 0 alone
  }
  return out;
}

nlohmann::json values_of(const std::vector<Record>& records) {
  nlohmann::json out = nlohmann::json::array();
  for (const Record& record : records) {
    nlohmann::json one = {{"value", record.value},
                          {"stderr", record.standard_error},
                          {"details", record.details},
                          {"items", record.items}};
    strip_not_compared(one["details"]);
    out.push_back(std::move(one));
  }
  return out;
}

// Computes a cell again and compares it with its old records; the evidence, or an Error.
nlohmann::json compare(const LoadedRun& run, const Candidate& candidate, RunKnowledge& knowledge,
                       Context& context) {
  const Experiment experiment = cut_down(run.experiments[candidate.cell.job], candidate.cell);
  RunnerOptions options;
  options.hub = context.hub();
  options.home = context.home();
  options.fail_fast = true;
  const std::vector<Record> now = run_experiments(context.catalog(), {experiment}, options);
  const bool quantized = candidate.cell.variant.quantizer.has_value();
  std::vector<Record> same;
  for (const Record& record : now) {
    if (record.quantizer.is_object() == quantized) {
      same.push_back(record);
    }
  }
  const std::vector<Record> before = knowledge.finished.find(candidate.old_key);
  const std::string name = cell_name(run.experiments[candidate.cell.job], candidate.cell);
  if (values_of(same) != values_of(before)) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: the new build gives {}, the old one gave {}; it is not adopted", name,
         same.empty() ? "nothing" : same[0].value.dump(),
         before.empty() ? "nothing" : before[0].value.dump());
  }
  return {{"cell", name}, {"key", candidate.old_key}, {"value", before[0].value}};
}

int adopt(const AdoptOptions& options, Context& context) {
  context.apply_threads();
  const LoadedRun run = load_run(options.manifest, context);
  RunKnowledge knowledge(run, context);
  std::optional<Builds> builds;
  std::vector<Candidate> found = candidates(run, knowledge, options.plugin, builds);
  // Replicates beyond the first draw are not computed again.
  std::erase_if(found, [](const Candidate& candidate) {
    return candidate.cell.variant.draw > 0 || candidate.cell.variant.jitter > 0;
  });
  if (found.empty()) {
    throw UsageError(QUENCH_NOT_FOUND,
                     fmt::format("no cell of {} is to do for another build of {} alone; `quench "
                                 "plan` says why cells are to do",
                                 run.manifest.name, printable(options.plugin)));
  }
  std::shuffle(found.begin(), found.end(), std::mt19937(std::random_device()()));
  found.resize(std::min<size_t>(found.size(), options.cells));
  nlohmann::json evidence = nlohmann::json::array();
  {
    Progress progress(Progress::Form::kText);
    for (const Candidate& candidate : found) {
      evidence.push_back(compare(run, candidate, knowledge, context));
    }
  }
  knowledge.equivalences.add({builds->kind, options.plugin, builds->old_sha256, builds->new_sha256,
                              options.reason, evidence});
  fmt::print(results(), "{} {}: {} counts as {}; {} cells computed again and equal\n", builds->kind,
             options.plugin, builds->new_sha256.substr(0, 12), builds->old_sha256.substr(0, 12),
             evidence.size());
  return kExitOk;
}

}  // namespace

void add_adopt(CLI::App& app, Context& context, Action& action) {
  CLI::App* command =
      app.add_subcommand("adopt",
                         "Let a rebuilt plugin keep its records, once it has shown that "
                         "it computes the same");
  auto options = std::make_shared<AdoptOptions>();
  add_manifest_options(*command, context, options->manifest);
  command->add_option("--plugin", options->plugin, "Id of the plugin")->required();
  command->add_option("--reason", options->reason, "Why it was rebuilt; kept with the proof")
      ->required();
  command->add_option("--cells", options->cells, "How many cells to compute again, at random")
      ->check(CLI::Range(1, 1000));
  add_thread_option(*command, context);
  command->callback([&context, &action, options] {
    action = [&context, options] { return adopt(*options, context); };
  });
}

}  // namespace quench
