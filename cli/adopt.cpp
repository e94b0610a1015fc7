// quench adopt MANIFEST --plugin ID: shows that a rebuilt plugin computes what the old build did,
// so that everything measured and trained with the old one counts again.
//
// Finds what to adopt by assumption: takes each build of the plugin that the run's files name for
// the present one and surveys the grid again. Cells that are then done are those that only the
// rebuild had made pending; trained checkpoints are found again, too.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "cli/answer.hpp"
#include "cli/manifest_options.hpp"
#include "cli/progress.hpp"
#include "cli/standard_streams.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/new_folder.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/store/record_schema.hpp"
#include "run/runner.hpp"
#include "train/train.hpp"
#include "train/trained_states.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxRunDescription = uint64_t{64} << 20;

struct AdoptOptions {
  ManifestOptions manifest;
  std::string plugin;
  std::string reason;
  uint32_t cells = 3;
};

using nlohmann::json;

// A build of the plugin that the run's files name.
struct Build {
  std::string kind;
  json code;
  bool operator==(const Build&) const = default;
};

// Names of parts that hold a plugin, with the kind of each.
const std::map<std::string, std::string> kKindOfPart = {
    {"averaging", "averaging"}, {"family", "model"},  {"format", "format"},
    {"judge", "quantizer"},     {"metric", "metric"}, {"quantizer", "quantizer"},
    {"score", "metric"},        {"stored", "format"}, {"tokenizer", "tokenizer"},
    {"transform", "transform"}};

void add_builds(const json& parts, const std::string& id, std::vector<Build>& out) {
  for (const auto& [name, part] : parts.items()) {
    if (!part.is_structured()) {
      continue;
    }
    const auto kind = kKindOfPart.find(name);
    if (kind != kKindOfPart.end() && part.value("id", json()) == id && part.contains("code")) {
      out.push_back({kind->second, part["code"]});
    }
    add_builds(part, id, out);
  }
}

// The builds of plugin `id` in the run's records and in its last attempt's list of plugins (a
// training names them nowhere else), without the present ones.
std::vector<Build> earlier_builds(const LoadedRun& run, const RunKnowledge& knowledge,
                                  const Catalog& catalog, const std::string& id) {
  std::vector<Build> named;
  for (const auto* records : {&knowledge.records.records, &knowledge.records.superseded}) {
    for (const Record& record : *records) {
      if (record.parts.is_object()) {
        add_builds(record.parts, id, named);
      }
    }
  }
  const fs::path description = run.folder / "run.json";
  if (fs::exists(description)) {
    const json last = parse_json(read_file(description, kMaxRunDescription), description.string());
    for (const json& plugin : last.value("plugins", json::array())) {
      if (plugin.value("id", "") == id && plugin.contains("code")) {
        named.push_back({plugin.value("kind", ""), plugin["code"]});
      }
    }
  }
  std::vector<Build> out;
  for (const Build& build : named) {
    const PluginDescription* now = catalog.find(build.kind, id);
    if (now != nullptr && now->code != build.code &&
        std::find(out.begin(), out.end(), build) == out.end()) {
      out.push_back(build);
    }
  }
  return out;
}

std::vector<CellState> states_of(const LoadedRun& run, RunKnowledge& knowledge) {
  std::vector<CellState> out;
  for (const Cell& cell : survey(run.experiments, knowledge.identities, knowledge.finished, {})) {
    out.push_back(cell.state);
  }
  return out;
}

bool has_values(CellState state) {
  return state == CellState::kDone || state == CellState::kReused;
}

// Cells that have values only if the assumed build counts as the present one.
std::vector<Cell> regained(const LoadedRun& run, RunKnowledge& knowledge,
                           const std::vector<CellState>& before) {
  std::vector<Cell> out;
  std::vector<Cell> cells = survey(run.experiments, knowledge.identities, knowledge.finished, {});
  for (size_t i = 0; i < cells.size(); ++i) {
    if (has_values(cells[i].state) && !has_values(before[i])) {
      out.push_back(std::move(cells[i]));
    }
  }
  return out;
}

// Reduces the experiment to one set of weights and one quantizer.
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

json values_of(const std::vector<Record>& records) {
  json out = json::array();
  for (const Record& record : records) {
    json one = {{"value", record.value},
                {"stderr", record.standard_error},
                {"details", record.details},
                {"items", record.items}};
    strip_not_compared(one["details"]);
    out.push_back(std::move(one));
  }
  return out;
}

// Computes a cell again and compares it with its old records. Returns the evidence or throws Error.
json compare(const LoadedRun& run, const Cell& cell, RunKnowledge& knowledge, Context& context) {
  const Experiment experiment = cut_down(run.experiments[cell.job], cell);
  RunnerOptions options;
  options.hub = context.hub();
  options.home = context.home();
  options.fail_fast = true;
  RunStatus unheard;
  const std::vector<Record> now =
      run_experiments(context.catalog(), {experiment}, options, unheard);
  std::vector<Record> same;
  for (const Record& record : now) {
    if (record.quantizer.is_object() == cell.variant.quantizer.has_value()) {
      same.push_back(record);
    }
  }
  const std::vector<Record> before = knowledge.finished.find(cell.key);
  const std::string name = cell_name(run.experiments[cell.job], cell);
  if (values_of(same) != values_of(before)) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: the new build gives {}, the old one gave {}; it is not adopted", name,
         same.empty() ? "nothing" : same[0].value.dump(),
         before.empty() ? "nothing" : before[0].value.dump());
  }
  return {{"cell", name}, {"key", cell.key}, {"value", before[0].value}};
}

// Trains again up to the first existing checkpoint and compares the weights with it; null if
// nothing was trained.
json train_again(const Experiment& experiment, Context& context) {
  if (experiment.training == nullptr) {
    return nullptr;
  }
  Training training = *experiment.training;
  TrainingBranch& branch = training.branches.front();
  const StateKeys keys = state_keys(training).front();
  const TrainedStates there(context.home());
  const auto first = std::find_if(branch.checkpoints.begin(), branch.checkpoints.end(),
                                  [&](int64_t step) { return there.has_weights(keys.at(step)); });
  if (first == branch.checkpoints.end()) {
    return nullptr;
  }
  const int64_t step = *first;
  branch.checkpoints = {step};
  branch.averages.clear();
  training.branches.resize(1);
  const NewFolder scratch(context.home() / "adopt");  // never committed
  TrainOptions options;
  options.home = scratch.temporary();
  const TrainOutcome outcome = train(context.catalog(), training, options);
  if (!outcome.failures.empty()) {
    throw outcome.failures.begin()->second;
  }
  const auto hash = [&](const TrainedStates& states) {
    return sha256_of(File(states.weights_path(keys.at(step)) / "model.safetensors"));
  };
  const std::string was = hash(there);
  const std::string is = hash(TrainedStates(scratch.temporary()));
  if (was != is) {
    fail(QUENCH_FAILED_PRECONDITION,
         "the new build trains other weights up to step {} (sha256 {}, the old one {}); it is not "
         "adopted",
         step, is.substr(0, 12), was.substr(0, 12));
  }
  return {{"training", step}, {"sha256", was}};
}

// Whether plugins of this kind take part in a training.
bool trains(const std::string& kind) {
  return kind == "model" || kind == "optimizer" || kind == "corpus" || kind == "tokenizer";
}

struct Proof {
  json evidence = json::array();
  size_t cells = 0;
};

Proof prove(const LoadedRun& run, std::vector<Cell> cells, const Build& build,
            RunKnowledge& knowledge, const AdoptOptions& options, Context& context) {
  // Draws beyond the first are not computed again.
  std::erase_if(cells,
                [](const Cell& cell) { return cell.variant.draw > 0 || cell.variant.jitter > 0; });
  std::shuffle(cells.begin(), cells.end(), std::mt19937(std::random_device()()));
  cells.resize(std::min<size_t>(cells.size(), options.cells));
  const Progress progress(context, options.manifest.json);
  Proof out;
  std::set<uint64_t> jobs;
  for (const Cell& cell : cells) {
    out.evidence.push_back(compare(run, cell, knowledge, context));
    ++out.cells;
    if (trains(build.kind) && jobs.insert(cell.job).second) {
      if (json trained = train_again(run.experiments[cell.job], context); !trained.is_null()) {
        out.evidence.push_back(std::move(trained));
      }
    }
  }
  return out;
}

std::string text_of(const json& code) {
  return code.begin()->is_string() ? code.begin()->get<std::string>().substr(0, 12) : code.dump();
}

int adopt(const AdoptOptions& options, Context& context) {
  context.apply_threads();
  std::vector<CellState> states;
  std::vector<Build> builds;
  {
    const LoadedRun run = load_run(options.manifest, context);
    RunKnowledge knowledge = knowledge_of(run, context);
    states = states_of(run, knowledge);
    builds = earlier_builds(run, knowledge, context.catalog(), options.plugin);
  }
  for (const Build& build : builds) {
    // One pair of builds at a time: a plugin that was rebuilt twice is adopted in two steps.
    const json present = context.equivalences().canonical_code(
        context.catalog().require(build.kind, options.plugin).code);
    const Equivalence pair = {build.kind, options.plugin, build.code,
                              present,    options.reason, nullptr};
    context.assume(pair);
    const LoadedRun run = load_run(options.manifest, context);
    RunKnowledge knowledge = knowledge_of(run, context);
    std::vector<Cell> cells = regained(run, knowledge, states);
    if (cells.empty()) {
      context.forget_assumed();
      continue;
    }
    const Proof proof = prove(run, std::move(cells), build, knowledge, options, context);
    Equivalence proved = pair;
    proved.evidence = proof.evidence;
    Equivalences(context.home()).add(proved);
    if (options.manifest.json) {
      answer({{"kind", build.kind},
              {"plugin", options.plugin},
              {"build", present},
              {"counts_as", build.code},
              {"cells", proof.cells},
              {"evidence", proof.evidence}});
    } else {
      fmt::print(results(), "{} {}: {} counts as {}; {} cells computed again and equal\n",
                 build.kind, options.plugin, text_of(present), text_of(build.code), proof.cells);
    }
    return kExitOk;
  }
  throw UsageError(QUENCH_NOT_FOUND,
                   fmt::format("no cell of the run is to do for another build of {} alone; `quench "
                               "plan` says why cells are to do",
                               printable(options.plugin)));
}

}  // namespace

void add_adopt(Verb& verb, Context& context) {
  verb.examples({"quench adopt m.yaml --plugin gptq --reason \"another compiler\""});
  auto options = std::make_shared<AdoptOptions>();
  add_manifest_options(verb, context, options->manifest);
  verb.option("--plugin", options->plugin, "Id of the plugin").required();
  verb.option("--reason", options->reason, "Why it was rebuilt; stored with the evidence")
      .required();
  verb.option("--cells", options->cells, "Number of random cells to compute again")
      .between(1, 1000);
  add_thread_option(verb, context);
  add_log_options(verb, context);
  verb.does([&context, options] { return adopt(*options, context); });
}

}  // namespace quench
