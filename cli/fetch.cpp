// quench fetch: brings checkpoints, tokenizers and data sets into the hub's cache.
#include <fmt/format.h>

#include <chrono>

#include "cli/amounts.hpp"
#include "cli/answer.hpp"
#include "cli/hub_session.hpp"
#include "cli/manifest_options.hpp"
#include "cli/standard_streams.hpp"
#include "cli/table.hpp"
#include "cli/terminal_text.hpp"

namespace quench {

namespace {

struct FetchVerbOptions {
  std::string source;
  std::vector<std::string> sets;
  int64_t job = -1;
  bool dry_run = false;
};

// Revisions of one repository with the same commit differ in name alone; "@main" is not written.
std::string revision_text(const PlannedRevision& revision) {
  return printable(to_text(revision.spec), 300);
}

void print_plan(const FetchPlan& plan) {
  std::vector<std::vector<std::string>> rows = {
      {"revision", "commit", "files", "size", "to fetch"}};
  for (const PlannedRevision& revision : plan.revisions) {
    rows.push_back({revision_text(revision), revision.commit.substr(0, 12),
                    std::to_string(revision.files.size()), bytes_text(revision.bytes),
                    revision.missing_files == 0 ? "-" : bytes_text(revision.missing_bytes)});
  }
  print_table(rows, {{12, 0}, {SIZE_MAX, 1}, {SIZE_MAX, 2}, kWhole, kWhole});
  print_line("{} revisions, {} files, {}; to fetch: {} files, {}, into {}", plan.revisions.size(),
             plan.files, bytes_text(plan.bytes), plan.missing_files, bytes_text(plan.missing_bytes),
             plan.root.string());
}

void answer_plan(const FetchPlan& plan) {
  nlohmann::json revisions = nlohmann::json::array();
  for (const PlannedRevision& revision : plan.revisions) {
    nlohmann::json files = nlohmann::json::array();
    for (const HubFile& file : revision.files) {
      files.push_back(to_json(file));
    }
    revisions.push_back({{"revision", to_text(revision.spec)},
                         {"commit", revision.commit},
                         {"files", files},
                         {"bytes", revision.bytes},
                         {"missing_bytes", revision.missing_bytes}});
  }
  answer({{"cache", plan.root.string()},
          {"revisions", revisions},
          {"bytes", plan.bytes},
          {"missing_bytes", plan.missing_bytes},
          {"files", plan.files},
          {"missing_files", plan.missing_files}});
}

int fetch_verb(const FetchVerbOptions& options, Context& context) {
  using Clock = std::chrono::steady_clock;
  Progress progress(context);
  HubSession session(context);
  const FetchPlan plan = session.plan(options.source, options.sets, options.job);
  progress.clear();
  if (answers()) {
    answer_plan(plan);
  } else {
    print_plan(plan);
  }
  if (options.dry_run) {
    return kExitOk;
  }
  const Clock::time_point start = Clock::now();
  session.fetch(plan, progress);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  progress.clear();
  if (!answers() && plan.missing_files > 0) {
    fmt::print(results(), "fetched {} in {}: {}/s\n", bytes_text(plan.missing_bytes),
               duration_text(seconds),
               bytes_text(static_cast<uint64_t>(static_cast<double>(plan.missing_bytes) /
                                                std::max(seconds, 1e-3))));
  }
  return kExitOk;
}

}  // namespace

void add_fetch(Verb& verb, Context& context) {
  verb.examples({"quench fetch m.yaml --dry-run", "quench fetch m.yaml",
                 "quench fetch hf://EleutherAI/pythia-70m@step1000",
                 "quench fetch hf://datasets/allenai/c4/en/c4-validation.00000-of-00008.json.gz"});
  auto options = std::make_shared<FetchVerbOptions>();
  verb.option("source", options->source, "YAML manifest, or hf://org/name[/file][@revision]")
      .required();
  verb.option("--set", options->sets, "a.b=value: change the manifest; repeatable")
      .placeholder("PATH=VALUE");
  add_job_option(verb, options->job);
  verb.flag("--dry-run", options->dry_run, "Only print what would be fetched");
  verb.json();
  add_plugin_options(verb, context);
  add_log_options(verb, context);
  verb.does([&context, options] { return fetch_verb(*options, context); });
}

}  // namespace quench
