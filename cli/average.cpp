// quench average MODEL...: averages several checkpoints into one folder.
#include <fmt/format.h>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "cli/standard_streams.hpp"
#include "core/base/json/or_null.hpp"
#include "core/inputs/averaging/keep_average.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/pass/evaluate.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/manifest/averaging_windows.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/single_checkpoint.hpp"

namespace quench {

namespace {

struct AverageArguments {
  std::vector<std::string> models;
  std::string scheme;
  std::string out;
  std::string dtype = "float32";
  std::string metric;
  std::string tokenizer;
};

// The members and the scheme, before anything is computed.
struct Job {
  AveragingCell averaging;
  std::vector<KeptMember> members;
  std::optional<MetricCell> metric;
  quench_dtype dtype{};
};

std::vector<CheckpointCell> cells_of(const std::vector<std::string>& models) {
  std::vector<CheckpointCell> cells;
  std::transform(models.begin(), models.end(), std::back_inserter(cells), single_checkpoint);
  return cells;
}

// Claims the members before it opens them.
Job make_job(const AverageArguments& options, Context& context, HubClaim& claim) {
  if (std::filesystem::exists(std::filesystem::symlink_status(options.out))) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: already exists; nothing is overwritten",
         printable(options.out, 4096));
  }
  if (!options.tokenizer.empty() && options.tokenizer != "bytes" &&
      !std::filesystem::exists(options.tokenizer)) {
    fail(QUENCH_NOT_FOUND, "{}: no such tokenizer", printable(options.tokenizer, 4096));
  }
  Job job;
  job.dtype = parse_dtype(options.dtype);
  job.averaging = resolve_averaging(options.scheme, context.catalog());
  if (!options.metric.empty()) {
    job.metric = resolve_metric(options.metric, context.catalog());
  }
  const std::vector<CheckpointCell> cells = cells_of(options.models);
  claim.set(hub_commits(cells, context));
  std::vector<size_t> all(cells.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    all[i] = i;
  }
  try {
    averaged_weights(context.catalog(), job.averaging, 0, cells, all);
  } catch (const Error& error) {  // the wrong members for this scheme
    throw UsageError(error.code(), error.what());
  }
  for (const CheckpointCell& cell : cells) {
    job.members.push_back({open_files(context.catalog(), cell, context.hub()), cell.location,
                           locate_checkpoint(cell, context.hub()).commit,
                           cell.revision.empty() ? cell.location : cell.revision, cell.step,
                           cell.tokens});
  }
  return job;
}

TokenizerChoice tokenizer_of(const std::string& given, const CheckpointFolder& folder,
                             Catalog& catalog) {
  return given.empty()
             ? TokenizerChoice::of(catalog, folder)
             : TokenizerChoice(given == "bytes" ? given : tokenizer_file(catalog, given).string(),
                               "");
}

// The weights that a scheme finds by a score; empty if it does not search.
std::vector<double> find_weights(const Job& job, const AverageArguments& options, Context& context,
                                 Progress& progress) {
  const bool searches =
      AveragingHandle(context.catalog(), *job.averaging.plugin, job.averaging.parameters)
          .searches();
  if (searches != job.metric.has_value()) {
    throw UsageError(QUENCH_INVALID_ARGUMENT,
                     fmt::format("averaging {}: {}", job.averaging.plugin->id,
                                 searches ? "chooses its members by a score; name a --metric"
                                          : "needs no score; leave --metric out"));
  }
  if (!searches) {
    return {};
  }
  const CheckpointFolder& last = job.members.back().folder;
  AverageScore score(context.catalog(), *job.metric,
                     tokenizer_of(options.tokenizer, last, context.catalog()), last.config_json,
                     (last.path / "config.json").string(), {QUENCH_DEVICE_CPU, 0});
  const std::vector<AverageMember> members = average_members(context.catalog(), job.members);
  size_t asked = 0;
  return search_average(
      context.catalog(), job.averaging, members,
      [&](const std::shared_ptr<const TensorSource>& weights) {
        progress.step(fmt::format("score {} of {}", ++asked, 2 * members.size() - 1));
        return score(weights);
      },
      {job.dtype, {}, HostServices::instance().threads()});
}

void print_result(const Job& job, const KeptAverage& kept, const std::vector<double>& weights,
                  const AverageArguments& options) {
  if (!answers()) {
    const auto used =
        static_cast<size_t>(std::count_if(kept.member_hashes.begin(), kept.member_hashes.end(),
                                          [](const std::string& hash) { return !hash.empty(); }));
    fmt::print(results(), "{}: {} of {} checkpoints, {:.1f} MB\n", options.out, job.averaging.label,
               used, static_cast<double>(kept.bytes) * 1e-6);
    return;
  }
  nlohmann::json members = nlohmann::json::array();
  for (size_t i = 0; i < job.members.size(); ++i) {
    const std::string& hash = kept.member_hashes[i];
    members.push_back(
        {{"model", printable(job.members[i].location, 4096)}, {"content", or_null(hash)}});
    if (!weights.empty()) {
      members.back()["weight"] = weights[i];
    }
  }
  answer({{"folder", printable(options.out, 4096)},
          {"averaging", job.averaging.label},
          {"identity", kept.identity},
          {"bytes", kept.bytes},
          {"members", members}});
}

int average(const AverageArguments& options, Context& context) {
  context.apply_threads();
  HubClaim claim;
  const Job job = as_usage([&] { return make_job(options, context, claim); });
  Progress progress(context);
  KeepOptions keep;
  keep.dtype = job.dtype;
  keep.threads = HostServices::instance().threads();
  if (options.tokenizer != "bytes") {  // "bytes" is not a file
    keep.tokenizer = options.tokenizer;
  }
  keep.weights = find_weights(job, options, context, progress);
  keep.on_progress = [](uint64_t done, uint64_t total) {
    HostServices::instance().progress("", "MB", done / 1'000'000, total / 1'000'000);
  };
  progress.step(fmt::format("{} of {} checkpoints", job.averaging.label, job.members.size()));
  const KeptAverage kept =
      keep_average(context.catalog(), job.averaging, job.members, options.out, keep);
  progress.clear();
  print_result(job, kept, keep.weights, options);
  return kExitOk;
}

}  // namespace

void add_average(Verb& verb, Context& context) {
  auto options = std::make_shared<AverageArguments>();
  verb.examples({"quench average step1 step2 step3 --scheme soup -o averaged"});
  verb.option("models", options->models,
              "Folders, files, or hf://org/name@revision, in the order of training")
      .required();
  verb.option("--scheme", options->scheme, "id[:key=value,...], for example lawa:window=5")
      .placeholder("SPEC")
      .required();
  verb.option("-o,--out", options->out, "Folder to write; must not exist")
      .placeholder("DIR")
      .required();
  verb.option("--dtype", options->dtype, "float32, float64, bfloat16, float16");
  verb.option("--metric", options->metric,
              "id[:key=value,...]: the score, for schemes that search by one")
      .placeholder("SPEC");
  verb.option("--tokenizer", options->tokenizer,
              "Folder or file to copy, or bytes (default: the last checkpoint's)");
  verb.json("Print the result as JSON");
  add_plugin_options(verb, context);
  add_thread_option(verb, context);
  add_log_options(verb, context);
  verb.does([&context, options] { return average(*options, context); });
}

}  // namespace quench
