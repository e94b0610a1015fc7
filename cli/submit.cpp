// quench submit MANIFEST --to slurm|htcondor: what is left of a run, share by share, which Python
// sends to a cluster (python/quench/cluster).
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/answer.hpp"
#include "cli/cluster_status.hpp"
#include "cli/hub_session.hpp"
#include "cli/manifest_options.hpp"
#include "cli/standard_streams.hpp"
#include "cli/strict_option.hpp"
#include "core/plugin/catalog/python_file.hpp"
#include "run/check_experiment.hpp"
#include "run/grid/expected_run.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kUsualCpus = 4;

struct SubmitOptions {
  ManifestOptions manifest;
  std::string to;
  std::string script;  // --template
  uint64_t shares = 0;
  std::string retry;
  bool fetch = false;
  bool dry_run = false;
};

fs::path absolute_path(const fs::path& path) {
  return fs::absolute(path).lexically_normal();
}

std::vector<std::string> run_arguments(const SubmitOptions& options, const LoadedRun& run,
                                       const Context& context) {
  std::vector<std::string> out = {"run", absolute_path(options.manifest.manifest).string(), "--out",
                                  absolute_path(run.folder).string()};
  const auto add = [&out](const std::string& name, const std::string& value) {
    out.push_back(name);
    out.push_back(value);
  };
  for (const std::string& set : options.manifest.sets) {
    add("--set", set);
  }
  if (!options.manifest.device.empty()) {
    add("--device", options.manifest.device);
  }
  if (options.manifest.job >= 0) {
    add("--job", std::to_string(options.manifest.job));
  }
  if (options.fetch) {
    out.emplace_back("--fetch");
  }
  if (!options.manifest.storage_limit.empty()) {
    add("--storage-limit", options.manifest.storage_limit);
  }
  if (!options.manifest.evict.empty()) {
    add("--evict", options.manifest.evict);
  }
  if (!options.retry.empty()) {
    add("--retry", options.retry);
  }
  if (HeardWarnings::strict()) {
    out.emplace_back("--strict");
  }
  for (const std::string& folder : context.plugin_path) {
    add("--plugin-path", absolute_path(folder).string());
  }
  for (const std::string& plugin : context.in_process) {
    add("--in-process", plugin);
  }
  const Context usual;
  if (context.sandbox != usual.sandbox) {
    add("--sandbox", context.sandbox);
  }
  if (context.worker_silence != usual.worker_silence) {
    add("--worker-silence", fmt::format("{}", context.worker_silence));
  }
  if (context.worker_time != usual.worker_time) {
    add("--worker-time", fmt::format("{}", context.worker_time));
  }
  if (context.worker_memory != usual.worker_memory) {
    add("--worker-memory", std::to_string(context.worker_memory));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> environment_of(Context& context) {
  std::vector<std::pair<std::string, std::string>> out = context.installation;
  out.emplace_back("QUENCH_HOME", context.home().string());
  const auto names_python = [](const auto& each) { return each.first == "QUENCH_PYTHON"; };
  if (std::none_of(out.begin(), out.end(), names_python)) {
    try {  // tasks may find another one
      out.emplace_back("QUENCH_PYTHON", usual_interpreter(context.python).string());
    } catch (const Error&) {  // without any, as here
    }
  }
  try {
    out.emplace_back("HF_HUB_CACHE", absolute_path(hub_cache_root(context.hub())).string());
  } catch (const Error&) {  // no variable says where the cache is, here as little as there
  }
  return out;
}

// What is left of a share.
struct OpenShare {
  uint64_t cells = 0;
  uint64_t open = 0;     // cells that a task can do now, or take from the store
  uint64_t blocked = 0;  // cells whose files are missing
  uint64_t failed = 0;   // cells that only `--retry failed` tries again
  uint64_t folders = 0;  // of weights, that a task can write now
  double seconds = 0;    // expected, of what is open, trainings included
};

// Adds what is left, share by share, and what it will take on tasks with so many threads: of files
// that the tasks will fetch ("unknown") neither memory nor time is known. Throws UsageError for
// what no task could do.
void look_ahead(const LoadedRun& run, const SubmitOptions& options, uint64_t count,
                uint32_t threads, Context& context, nlohmann::json& request) {
  const FolderPlaces places = folder_places(run.folder);
  std::vector<MetricMemory> described;
  as_usage([&] {
    check_row_folders(run.experiments, places);
    check_planned(context.catalog(), run.experiments, context.hub(), Fingerprints(context.home()));
    described = predict_metric_memory(context.catalog(), run.experiments, context.hub());
  });
  RunKnowledge knowledge = knowledge_of(run, context);
  const Rates rates(context.home());
  std::vector<Cell> cells =
      knowledge.survey(run.experiments, {/*fresh=*/false, options.retry == "failed"});
  as_usage([&] {
    check_kept_text(context.catalog(), run.experiments, cells, context.home(), context.hub());
  });
  const std::vector<TrainingCost> training = as_usage([&] {
    return training_of(context.catalog(), run.experiments, context.home(), rates, threads);
  });
  add_trained_sizes(run.experiments, training, described);
  const PlanCost cost =
      estimate(run.experiments, cells, knowledge.identities, rates, threads, described);
  const auto share_of =
      share_of_weights(make_shares(context.catalog(), run.experiments, context.hub(), count));
  std::vector<OpenShare> shares(count);
  uint64_t memory = cost.total.memory;
  bool unknown = false;
  for (size_t i = 0; i < cells.size(); ++i) {
    OpenShare& share = shares.at(share_of.at({cells[i].job, cells[i].weights}));
    const CellState state = cells[i].state;
    const bool fetched = options.fetch && state == CellState::kBlocked;
    unknown = unknown || fetched;
    ++share.cells;
    share.blocked += state == CellState::kBlocked && !fetched ? 1 : 0;
    share.failed += state == CellState::kFailed ? 1 : 0;
    share.open += state == CellState::kToDo || state == CellState::kReused || fetched ? 1 : 0;
    share.seconds += state == CellState::kToDo ? cost.cells[i].seconds : 0;
  }
  for (const PendingRow& row : pending_rows(run.experiments, places, knowledge.identities)) {
    if (!row.blocked || options.fetch) {
      ++shares.at(share_of.at({row.experiment, row.weights})).folders;
    }
  }
  const std::vector<size_t> trained = trainings_of(run.experiments);
  for (size_t i = 0; i < trained.size(); ++i) {
    memory = std::max(memory, training[i].memory);
    if (const auto found = share_of.lower_bound({trained[i], 0});
        found != share_of.end() && found->first.first == trained[i]) {
      shares[found->second].seconds += training[i].seconds;
    }
  }
  request.update({{"memory", memory}, {"unknown", unknown}, {"shares", nlohmann::json::array()}});
  for (const OpenShare& share : shares) {
    request["shares"].push_back({{"cells", share.cells},
                                 {"open", share.open},
                                 {"blocked", share.blocked},
                                 {"failed", share.failed},
                                 {"folders", share.folders},
                                 {"seconds", share.seconds}});
  }
}

// Prints what came of it. Throws what went wrong.
void tell_submitted(const nlohmann::json& said) {
  for (const nlohmann::json& warning : said.at("warnings")) {
    print_warning("warning: " + warning.get<std::string>());
  }
  if (!answers()) {
    fmt::print(results(), "{}", said.at("text").get<std::string>());
  }
  if (const nlohmann::json& error = said.at("error"); !error.is_null()) {
    const auto code = static_cast<quench_status>(error.at("status").get<int>());
    const auto message = error.at("message").get<std::string>();
    if (error.at("usage").get<bool>()) {
      throw UsageError(code, message);
    }
    fail(code, "{}", message);
  }
  answer(said.at("data"));
}

int submit(const SubmitOptions& options, Context& context) {
  std::optional<HubSession> session;
  if (options.fetch) {
    session.emplace(context);
  }
  const LoadedRun run =
      session ? load_run(options.manifest, context,
                         [&](const Manifest& manifest) { return session->resolve(manifest); })
              : load_run(options.manifest, context);
  const nlohmann::json& cluster = run.manifest.cluster;
  const uint64_t count = options.shares > 0 ? options.shares : cluster.value("shares", uint64_t{1});
  const uint64_t cpus = cluster.value("cpus", kUsualCpus);
  context.apply_threads();
  const bool on_gpu = std::any_of(
      run.experiments.begin(), run.experiments.end(),
      [](const Experiment& each) { return device_text(each.device).starts_with("cuda"); });
  nlohmann::json request = {{"name", run.manifest.name},
                            {"folder", run.folder.string()},
                            {"to", options.to},
                            {"template", options.script},
                            {"dry_run", options.dry_run},
                            {"cluster", cluster},
                            {"on_gpu", on_gpu},
                            {"cpus", cpus},
                            {"program", context.executable.string()},
                            {"arguments", run_arguments(options, run, context)},
                            {"here", fs::current_path().string()},
                            {"environment", environment_of(context)}};
  look_ahead(run, options, count, static_cast<uint32_t>(cpus), context, request);
  tell_submitted(as_usage([&] { return cluster_answer("submit", request, context); }));
  return kExitOk;
}

}  // namespace

void add_submit(Verb& verb, Context& context) {
  verb.examples({"quench submit m.yaml --to slurm --shares 8",
                 "quench submit m.yaml --to htcondor --shares 8 --dry-run",
                 "quench submit m.yaml --retry failed", "quench submit m.yaml --fetch",
                 "quench submit m.yaml --to kubernetes --shares 8"});
  auto options = std::make_shared<SubmitOptions>();
  add_manifest_options(verb, context, options->manifest);
  add_strict_option(verb);
  verb.option(
          "--to", options->to,
          "slurm or htcondor (default: `to` under `cluster`); kubernetes or generic: print what "
          "to paste")
      .one_of({"slurm", "htcondor", "kubernetes", "generic"});
  verb.option("--template", options->script,
              "File that takes the place of the script, with placeholders such as {{cpus}}")
      .placeholder("FILE");
  verb.option("--shares", options->shares,
              "Tasks that the work is split into (default: `shares` under `cluster`, or 1)")
      .between(1, kMostShares)
      .placeholder("N");
  verb.option("--retry", options->retry, "failed: try failed cells again").one_of({"failed"});
  verb.flag("--fetch", options->fetch,
            "Each task downloads what the cache lacks, as `run --fetch` does");
  verb.flag("--dry-run", options->dry_run, "Print the scripts and submit nothing");
  verb.does([&context, options] { return submit(*options, context); });
}

}  // namespace quench
