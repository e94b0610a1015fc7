// quench run MANIFEST
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "cli/amounts.hpp"
#include "cli/answer.hpp"
#include "cli/changed_interpreters.hpp"
#include "cli/export_cards.hpp"
#include "cli/fetched_weights.hpp"
#include "cli/hub_session.hpp"
#include "cli/manifest_options.hpp"
#include "cli/plan_views.hpp"
#include "cli/progress.hpp"
#include "cli/report_in_python.hpp"
#include "cli/run_attempt.hpp"
#include "cli/standard_streams.hpp"
#include "cli/strict_option.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"
#include "core/base/io/lease.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/derived.hpp"
#include "core/store/home.hpp"
#include "run/grid/current_texts.hpp"
#include "run/grid/expected_run.hpp"
#include "run/interrupted.hpp"
#include "run/runner.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// Numbers of parameters of the measured models, by the hash of their weights.
std::map<std::string, uint64_t> model_sizes(const LoadedRun& run, Identities& identities) {
  std::map<std::string, uint64_t> sizes;
  for (const Experiment& experiment : run.experiments) {
    for (const CheckpointCell& cell : experiment.checkpoints) {
      if (const auto known = identities.remembered(cell)) {
        sizes[known->content] = known->parameters;
      }
    }
  }
  return sizes;
}

// Saves what was learned about this machine's speed; a failure to save does not fail the run.
void learn_rates(const LoadedRun& run, RunKnowledge& knowledge, const fs::path& home,
                 const std::vector<Record>& kept) {
  try {
    Rates rates(home);  // with what trainings of this run have added
    rates.observe(kept, model_sizes(run, knowledge.identities));
    rates.save();
  } catch (...) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", current_error().what());
  }
}

// What was found, for people, and whether the page is as it should be.
struct Conclusion {
  std::string text;
  bool written = true;
};

// Writes the page. Without what draws it a run ends well; the records are safe in any case.
Conclusion conclude(const fs::path& folder, const Context& context) {
  const auto tell = [](const Error& error) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "",
                                 fmt::format("no report is written: {}", error.what()));
  };
  try {
    return {written_report(folder, context)};
  } catch (const NoInterpreter& missing) {
    tell(missing);
    return {};
  } catch (...) {
    tell(current_error());
    return {"", false};
  }
}

void answer_run(const LoadedRun& run, const std::vector<Record>& records,
                const std::vector<std::string>& unwritten) {
  nlohmann::json list = nlohmann::json::array();
  for (const Record& record : records) {
    list.push_back(to_json(record));
  }
  answer({{"name", run.manifest.name},
          {"folder", run.folder.string()},
          {"records", list},
          {"unwritten", unwritten}});
}

// The experiments, with a hub's help: what the manifest names and the cache lacks is fetched; of
// checkpoints only where the manifest has no `storage`, else they come one by one.
LoadedRun load_and_fetch(const RunOptions& options, Context& context, HubSession& session) {
  const Resolve with_hub = [&](const Manifest& manifest) { return session.resolve(manifest); };
  LoadedRun run = load_run(options.manifest, context, with_hub);
  const bool one_by_one = run.manifest.storage.has_value();
  std::vector<FetchRequest> wanted = data_requests(run.experiments);
  if (!one_by_one) {
    const std::vector<FetchRequest> models = model_requests(run.experiments);
    wanted.insert(wanted.begin(), models.begin(), models.end());
  }
  if (wanted.empty()) {
    return run;
  }
  Progress progress(context, options.progress);
  session.fetch(session.plan(wanted), progress);
  progress.clear();
  // What the cache has may be less than all revisions; a share must be cut from all of them.
  return load_run(options.manifest, context, one_by_one || run.share ? with_hub : Resolve());
}

// Claims what the run reads until the claim ends.
void claim_checkpoints(const LoadedRun& run, const Context& context, HubClaim& claim) {
  std::vector<CheckpointCell> checkpoints;
  for (const Experiment& experiment : run.experiments) {
    checkpoints.insert(checkpoints.end(), experiment.checkpoints.begin(),
                       experiment.checkpoints.end());
  }
  claim.set(hub_commits(checkpoints, context));
}

// What processes that were killed left half-written; exports and averages see to their own.
void remove_leftovers(const fs::path& folder, const fs::path& home) {
  for (const fs::path& each :
       {folder, folder / "claims", folder / "training", home, home / "training", home / "tokens",
        home / "records", home / "fingerprints"}) {
    remove_ended(each);
  }
}

// There are more shares than pieces of work.
int report_empty_share(const LoadedRun& run) {
  if (answers()) {
    answer_run(run, {}, {});
  } else {
    fmt::print(results(), "{}: share {}/{} has nothing to do\n", run.manifest.name,
               run.share->number, run.share->of);
  }
  return kExitOk;
}

int run(const RunOptions& options, Context& context) {
  if (options.dry_run) {
    return plan_run(options.manifest, context);
  }
  using Clock = std::chrono::steady_clock;
  context.apply_threads();
  require_writable_home(context.home());
  std::optional<HubSession> session;
  if (options.fetch) {
    session.emplace(context);
  }
  const LoadedRun loaded =
      session ? load_and_fetch(options, context, *session) : load_run(options.manifest, context);
  if (!loaded.engine.empty() && !answers()) {
    fmt::print(results(), "share {} of {} ({})\n", loaded.share->number, loaded.share->of,
               loaded.engine);
    std::fflush(results());
  }
  if (loaded.experiments.empty()) {
    return report_empty_share(loaded);
  }
  const bool brings = session && loaded.manifest.storage;
  HubClaim claim;
  if (!brings) {  // else each revision is claimed while it is needed
    claim_checkpoints(loaded, context, claim);
  }
  remove_leftovers(loaded.folder, context.home());
  RunKnowledge knowledge = knowledge_of(loaded, context, options.fresh);
  const Rates rates(context.home());
  const std::vector<Cell> cells =
      knowledge.survey(loaded.experiments, {options.fresh, options.retry == "failed"});
  const ExpectedRun expected =
      expected_run(loaded.experiments, cells, knowledge.identities, rates, context.home());
  nlohmann::json texts = current_texts(loaded.experiments, knowledge);
  if (const std::string line =
          other_text_warning(loaded.experiments, loaded.folder, knowledge.records, texts);
      !line.empty()) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", line);
  }
  for (const std::string& line :
       changed_interpreters(loaded.folder, context.catalog().items(), knowledge.records.records)) {
    HostServices::instance().log(QUENCH_LOG_WARNING, "", line);
  }
  const Clock::time_point start = Clock::now();
  const auto to_do = std::count_if(cells.begin(), cells.end(), [](const Cell& cell) {
    return cell.state != CellState::kDone && cell.state != CellState::kFailed;
  });
  std::optional<FetchedWeights> supply;
  if (brings) {
    supply.emplace(loaded, *loaded.manifest.storage,
                   storage_needs(loaded.experiments, cells, folder_places(loaded.folder),
                                 knowledge.identities),
                   *session, knowledge.identities, hub_cache_root(context.hub_environment));
  }
  Attempt attempt(options, loaded, knowledge, context, std::move(texts),
                  static_cast<uint64_t>(to_do), cells.size(), expected,
                  supply ? &*supply : nullptr);
  const std::vector<Record> records = attempt.run();
  const std::chrono::duration<double> took = Clock::now() - start;
  const auto failed = [](const Record& record) { return !record.error.empty(); };
  std::vector<Record> there = records;
  const auto interrupted = std::erase_if(there, was_interrupted);
  const auto failures = std::count_if(there.begin(), there.end(), failed);
  if (!attempt.kept().empty()) {
    learn_rates(loaded, knowledge, context.home(), attempt.kept());
  }
  write_export_cards(loaded, records, !attempt.kept().empty(), knowledge.identities, context);
  const Conclusion conclusion = conclude(loaded.folder, context);
  if (answers()) {
    answer_run(loaded, with_derived(records), attempt.unwritten());
  } else {
    fmt::print(results(), "{}", records_table(with_derived(there), output_columns()));
    const auto reused = std::count_if(attempt.kept().begin(), attempt.kept().end(),
                                      [](const Record& record) { return !record.cached.empty(); });
    fmt::print(results(), "{} records, {} of them new{}: {}\n", there.size(), attempt.kept().size(),
               reused > 0 ? fmt::format(", {} of these taken from other runs", reused) : "",
               loaded.folder.string());
    const std::optional<double> seconds = expected.seconds();
    fmt::print(results(), "finished in {}{}\n", duration_text(took.count()),
               seconds ? fmt::format(", estimated {}", duration_text(*seconds)) : "");
    fmt::print(results(), "{}", fitted_lines(conclusion.text));
    if (failures > 0) {
      fmt::print(results(), "{} failed; try them again with: {} --retry failed\n", failures,
                 context.command_line());
    }
    if (interrupted > 0) {
      fmt::print(results(), "{} not measured; measure them with: {}\n", interrupted,
                 context.command_line());
    }
    if (!attempt.unwritten().empty()) {
      fmt::print(results(), "{} folders of weights could not be written; try again with: {}\n",
                 attempt.unwritten().size(), context.command_line());
    }
  }
  if (failures > 0) {
    return incomplete(fmt::format("{} of {} records failed", failures, there.size()));
  }
  if (interrupted > 0) {
    return incomplete(fmt::format("{} cells were not measured", interrupted));
  }
  if (!attempt.unwritten().empty()) {
    return incomplete(
        fmt::format("{} folders of weights could not be written", attempt.unwritten().size()));
  }
  return conclusion.written ? kExitOk : incomplete("the report could not be written");
}

}  // namespace

void add_run(Verb& verb, Context& context) {
  verb.examples({"quench run m.yaml", "quench run m.yaml --set seed=1 --out runs/seed1",
                 "quench run m.yaml --retry failed", "quench run m.yaml --fetch",
                 "quench run m.yaml --share 2/3",
                 "quench run quantize_olmo2_1B.yaml --job_idx 17"});
  auto options = std::make_shared<RunOptions>();
  add_manifest_options(verb, context, options->manifest);
  add_share_option(verb, options->manifest);
  add_strict_option(verb);
  verb.flag("--dry-run", options->dry_run, "Only what `quench plan` prints");
  verb.flag("--fail-fast", options->fail_fast, "Stop at the first failed cell");
  verb.flag("--fetch", options->fetch,
            "Download what the cache lacks: all of it first, or with `storage` one by one");
  verb.flag("--fresh", options->fresh,
            "Compute every cell again, from inputs that are hashed again");
  verb.option("--retry", options->retry, "failed: try failed cells again").one_of({"failed"});
  verb.option("--progress", options->progress, "json: progress as JSON lines on stderr")
      .one_of({"json", "text"});
  verb.option("--lease", options->lease,
              "Seconds without a sign of life after which another process takes over")
      .show_default()
      .between(1, 86400);
  add_thread_option(verb, context);
  add_log_options(verb, context);
  verb.does([&context, options] { return run(*options, context); });
}

}  // namespace quench
