// quench adopt MANIFEST [--plugin ID]...: shows that rebuilt plugins compute what the old builds
// did, so that everything measured and trained with the old ones counts again.
//
// Finds what to adopt by assumption: takes builds that the run's files name for the present ones
// and surveys the grid again. Cells that are then done are those that only the rebuilds had made
// pending; trained checkpoints are found again, too. The cells of one plugin among several are
// those that are lost when its assumption alone is dropped.
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

// The answers of a family or a format that was rebuilt are not remembered.
constexpr SurveyOptions kReading{.measure = true};
constexpr uint64_t kMaxRunDescription = uint64_t{64} << 20;

struct AdoptOptions {
  ManifestOptions manifest;
  std::vector<std::string> plugins;  // ids; none: all that were rebuilt since the last attempt
  std::string reason;
  uint32_t cells = 3;
};

using nlohmann::json;

// A build of a plugin that the run's files name.
struct Build {
  std::string kind;
  std::string id;
  json code;
  bool operator==(const Build&) const = default;
};
using Builds = std::vector<Build>;

// Names of parts that hold a plugin, with the kind of each.
const std::map<std::string, std::string> kKindOfPart = {
    {"averaging", "averaging"}, {"family", "model"},  {"format", "format"},
    {"judge", "quantizer"},     {"metric", "metric"}, {"quantizer", "quantizer"},
    {"score", "metric"},        {"stored", "format"}, {"tokenizer", "tokenizer"},
    {"transform", "transform"}};

void add_builds(const json& parts, const std::string& id, Builds& out) {
  for (const auto& [name, part] : parts.items()) {
    if (!part.is_structured()) {
      continue;
    }
    const auto kind = kKindOfPart.find(name);
    if (kind != kKindOfPart.end() && part.value("id", json()) == id && part.contains("code")) {
      out.push_back({kind->second, id, part["code"]});
    }
    add_builds(part, id, out);
  }
}

// Leaves of `named` what differs from the present builds, each once.
Builds earlier(const Builds& named, const Catalog& catalog) {
  Builds out;
  for (const Build& build : named) {
    const PluginDescription* now = catalog.find(build.kind, build.id);
    if (now != nullptr && now->code != build.code &&
        std::find(out.begin(), out.end(), build) == out.end()) {
      out.push_back(build);
    }
  }
  return out;
}

// The builds in the last attempt's list of plugins; a training names them nowhere else.
Builds builds_of_last_attempt(const LoadedRun& run) {
  Builds out;
  const fs::path description = run.folder / "run.json";
  if (fs::exists(description)) {
    const json last = parse_json(read_file(description, kMaxRunDescription), description.string());
    for (const json& plugin : last.value("plugins", json::array())) {
      if (plugin.contains("code")) {
        out.push_back({plugin.value("kind", ""), plugin.value("id", ""), plugin["code"]});
      }
    }
  }
  return out;
}

// Builds that are tried together. A single plugin may have been rebuilt more than once: each of its
// builds that a record or the last attempt names is tried alone. For several plugins, the builds of
// the last attempt are tried.
std::vector<Builds> sets_to_try(const LoadedRun& run, const RunKnowledge& knowledge,
                                const Catalog& catalog, const std::vector<std::string>& ids) {
  Builds last = builds_of_last_attempt(run);
  std::erase_if(last, [&](const Build& build) {
    return !ids.empty() && std::find(ids.begin(), ids.end(), build.id) == ids.end();
  });
  if (ids.size() != 1) {
    return {earlier(last, catalog)};
  }
  Builds named;
  for (const auto* records : {&knowledge.records.records, &knowledge.records.superseded}) {
    for (const Record& record : *records) {
      if (record.parts.is_object()) {
        add_builds(record.parts, ids[0], named);
      }
    }
  }
  named.insert(named.end(), last.begin(), last.end());
  std::vector<Builds> out;
  for (Build& build : earlier(named, catalog)) {
    out.push_back({std::move(build)});
  }
  return out;
}

bool has_values(const Cell& cell) {
  return cell.state == CellState::kDone || cell.state == CellState::kReused;
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
  if (const auto found = first_disagreement(before, same)) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: the new build differs at {}; it is not adopted", name,
         difference_text(*found));
  }
  return {{"cell", name}, {"key", cell.key}, {"value", before[0].value}};
}

// Of a training, the first checkpoint that exists of the run and of each fork that steps by an
// optimizer of its own.
Training first_checkpoints(Training training, const TrainedStates& there) {
  const std::vector<StateKeys> keys = state_keys(training);
  std::vector<TrainingBranch> kept;
  for (size_t i = 0; i < training.branches.size(); ++i) {
    TrainingBranch branch = training.branches[i];
    const auto exists = [&](int64_t step) { return there.has_weights(keys[i].at(step)); };
    const auto first = std::find_if(branch.checkpoints.begin(), branch.checkpoints.end(), exists);
    const bool found = first != branch.checkpoints.end() && (i == 0 || branch.optimizer);
    branch.checkpoints = found ? std::vector{*first} : std::vector<int64_t>{};
    branch.averages.clear();
    if (i == 0 || found) {
      kept.push_back(std::move(branch));
    }
  }
  training.branches = std::move(kept);
  return training;
}

// Trains again up to these checkpoints and compares the weights with theirs. The evidence is empty
// if nothing was trained.
json train_again(const Experiment& experiment, Context& context) {
  json evidence = json::array();
  if (experiment.training == nullptr) {
    return evidence;
  }
  const TrainedStates there(context.home());
  const Training training = first_checkpoints(*experiment.training, there);
  const NewFolder scratch(context.home() / "adopt");  // never committed
  TrainOptions options;
  options.home = scratch.temporary();
  const TrainOutcome outcome = train(context.catalog(), training, options);
  if (!outcome.failures.empty()) {
    throw outcome.failures.begin()->second;
  }
  const std::vector<StateKeys> keys = state_keys(training);
  for (size_t i = 0; i < training.branches.size(); ++i) {
    const TrainingBranch& branch = training.branches[i];
    for (const int64_t step : branch.checkpoints) {
      const auto hash = [&](const TrainedStates& states) {
        return sha256_of(File(states.weights_path(keys[i].at(step)) / "model.safetensors"));
      };
      const std::string was = hash(there);
      const std::string is = hash(TrainedStates(scratch.temporary()));
      const std::string of = branch.name.empty() ? "" : " of branch " + printable(branch.name);
      if (was != is) {
        fail(QUENCH_FAILED_PRECONDITION,
             "the new build trains other weights up to step {}{} (sha256 {}, the old one {}); it "
             "is not adopted",
             step, of, is.substr(0, 12), was.substr(0, 12));
      }
      evidence.push_back({{"training", step}, {"branch", branch.name}, {"sha256", was}});
    }
  }
  return evidence;
}

// Whether plugins of this kind take part in a training.
bool trains(const std::string& kind) {
  return kind == "model" || kind == "optimizer" || kind == "corpus" || kind == "tokenizer";
}

// A rebuilt plugin: the pair of builds, with the cells that come back by it.
struct Rebuilt {
  Equivalence pair;
  std::vector<Cell> cells;
};

// Those of `builds` without which cells would be to do, with these cells. Leaves all of them
// assumed, or none.
std::vector<Rebuilt> assume(const Builds& builds, const std::vector<Cell>& before,
                            const AdoptOptions& options, Context& context) {
  std::vector<Equivalence> pairs;
  for (const Build& build : builds) {
    const json present =
        context.equivalences().canonical_code(context.catalog().require(build.kind, build.id).code);
    pairs.push_back({build.kind, build.id, build.code, present, options.reason, nullptr});
  }
  // The cells that have values only if this holds.
  const auto regained_by = [&](const std::vector<Equivalence>& assumed) {
    context.assume(assumed);
    const LoadedRun run = load_run(options.manifest, context);
    RunKnowledge knowledge = knowledge_of(run, context);
    std::vector<Cell> out;
    std::vector<Cell> cells = knowledge.survey(run.experiments, kReading);
    for (size_t i = 0; i < cells.size(); ++i) {
      if (has_values(cells[i]) && !has_values(before[i])) {
        out.push_back(std::move(cells[i]));
      }
    }
    return out;
  };
  const std::vector<Cell> all = regained_by(pairs);
  std::vector<Rebuilt> out;
  std::vector<Equivalence> kept;
  for (size_t i = 0; i < pairs.size(); ++i) {
    std::set<std::string> without;
    if (pairs.size() > 1) {
      std::vector<Equivalence> others = pairs;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      for (const Cell& cell : regained_by(others)) {
        without.insert(cell.key);
      }
    }
    Rebuilt one{pairs[i], {}};
    // Draws beyond the first are not computed again.
    std::copy_if(all.begin(), all.end(), std::back_inserter(one.cells), [&](const Cell& cell) {
      return cell.variant.draw == 0 && cell.variant.jitter == 0 && !without.contains(cell.key);
    });
    if (!one.cells.empty()) {
      kept.push_back(one.pair);
      out.push_back(std::move(one));
    }
  }
  if (out.empty()) {
    context.forget_assumed();
  } else {
    context.assume(kept);
  }
  return out;
}

// Puts into each pair its evidence: cells computed again and trainings, each of them once.
// Returns the number of cells.
size_t prove(const LoadedRun& run, std::vector<Rebuilt>& rebuilt, RunKnowledge& knowledge,
             const AdoptOptions& options, Context& context) {
  const Progress progress(context);
  std::map<std::string, json> computed;  // by key
  std::map<uint64_t, json> trained;      // by job; empty: nothing to train
  std::mt19937 order{std::random_device()()};
  for (Rebuilt& each : rebuilt) {
    std::shuffle(each.cells.begin(), each.cells.end(), order);
    std::stable_partition(each.cells.begin(), each.cells.end(),
                          [&](const Cell& cell) { return computed.contains(cell.key); });
    each.cells.resize(std::min<size_t>(each.cells.size(), options.cells));
    each.pair.evidence = json::array();
    std::set<uint64_t> jobs;
    for (const Cell& cell : each.cells) {
      if (!computed.contains(cell.key)) {
        computed[cell.key] = compare(run, cell, knowledge, context);
      }
      each.pair.evidence.push_back(computed[cell.key]);
      if (!trains(each.pair.kind) || !jobs.insert(cell.job).second) {
        continue;
      }
      if (!trained.contains(cell.job)) {
        trained[cell.job] = train_again(run.experiments[cell.job], context);
      }
      each.pair.evidence.insert(each.pair.evidence.end(), trained[cell.job].begin(),
                                trained[cell.job].end());
    }
  }
  return computed.size();
}

std::string text_of(const json& code) {
  return code.begin()->is_string() ? code.begin()->get<std::string>().substr(0, 12) : code.dump();
}

void print(const std::vector<Rebuilt>& rebuilt, size_t cells) {
  json adopted = json::array();
  for (const Rebuilt& each : rebuilt) {
    const Equivalence& pair = each.pair;
    adopted.push_back({{"kind", pair.kind},
                       {"plugin", pair.id},
                       {"build", pair.new_code},
                       {"counts_as", pair.old_code},
                       {"evidence", pair.evidence}});
    if (!answers()) {
      fmt::print(results(), "{} {}: {} counts as {}; {} cells computed again and equal\n",
                 pair.kind, pair.id, text_of(pair.new_code), text_of(pair.old_code),
                 each.cells.size());
    }
  }
  answer({{"adopted", adopted}, {"cells", cells}});
}

int adopt(const AdoptOptions& options, Context& context) {
  context.apply_threads();
  std::vector<Cell> before;
  std::vector<Builds> sets;
  {
    const LoadedRun run = load_run(options.manifest, context);
    RunKnowledge knowledge = knowledge_of(run, context);
    before = knowledge.survey(run.experiments, kReading);
    sets = sets_to_try(run, knowledge, context.catalog(), options.plugins);
  }
  for (const Builds& builds : sets) {
    std::vector<Rebuilt> rebuilt = assume(builds, before, options, context);
    if (rebuilt.empty()) {
      continue;
    }
    const LoadedRun run = load_run(options.manifest, context);
    RunKnowledge knowledge = knowledge_of(run, context);
    knowledge.survey(run.experiments, kReading);  // for the plans that come after
    const size_t cells = prove(run, rebuilt, knowledge, options, context);
    Equivalences kept(context.home());
    for (const Rebuilt& each : rebuilt) {
      kept.add(each.pair);
    }
    print(rebuilt, cells);
    return kExitOk;
  }
  const std::string builds =
      options.plugins.empty()
          ? "other builds of plugins"
          : fmt::format("another build of {} alone",
                        printable(fmt::format("{}", fmt::join(options.plugins, ", "))));
  throw UsageError(QUENCH_NOT_FOUND,
                   fmt::format("no cell of the run is to do for {}; `quench plan` says why cells "
                               "are to do",
                               builds));
}

}  // namespace

void add_adopt(Verb& verb, Context& context) {
  verb.examples({"quench adopt m.yaml --reason \"another compiler\"",
                 "quench adopt m.yaml --plugin gptq --reason \"faster\""});
  auto options = std::make_shared<AdoptOptions>();
  add_manifest_options(verb, context, options->manifest);
  verb.option("--plugin", options->plugins,
              "Id of a plugin; repeatable (default: all of another build than in the last attempt)")
      .placeholder("ID");
  verb.option("--reason", options->reason, "Why it was rebuilt; stored with the evidence")
      .required();
  verb.option("--cells", options->cells, "Number of random cells of each plugin to compute again")
      .between(1, 1000);
  add_thread_option(verb, context);
  add_log_options(verb, context);
  verb.does([&context, options] { return adopt(*options, context); });
}

}  // namespace quench
