#include "cli/manifest_options.hpp"

#include <fmt/format.h>

#include "cli/python_verb.hpp"
#include "cli/report_in_python.hpp"
#include "core/base/config/amount.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/grid/share_engines.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/study_job.hpp"

namespace quench {

void add_manifest_options(Verb& verb, Context& context, ManifestOptions& options) {
  verb.option("manifest", options.manifest, "YAML manifest, or a file of the study's code")
      .required();
  verb.option("--set", options.sets, "a.b=value: change the manifest; repeatable")
      .placeholder("PATH=VALUE");
  verb.option("--device", options.device, "cpu, cuda or cuda:N; overrides the manifest");
  verb.option("--storage-limit", options.storage_limit,
              "Bytes that downloads may take in the cache, such as 200GB; overrides the manifest")
      .placeholder("BYTES");
  verb.option("--evict", options.evict,
              "done: remove downloaded weights that no cell needs any more; overrides the manifest")
      .one_of({"done", "never"});
  add_job_option(verb, options.job);
  verb.option("--out", options.out, "Folder of the results (default: runs/NAME)")
      .placeholder("DIR");
  verb.json();
  add_plugin_options(verb, context);
}

Option add_share_option(Verb& verb, ManifestOptions& options) {
  return verb
      .option(
          "--share", options.share,
          "Only share I of N, counted from 1; `quench plan --shares N` shows all of them. auto: "
          "the share that a Slurm, SGE or LSF array, MPI, srun or torchrun gives this task; "
          "auto/N: where the engine does not say N")
      .placeholder("I/N");
}

namespace {

// Reports a results folder that cannot exist before anything is computed.
void check_folder(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  for (fs::path at = fs::absolute(folder).lexically_normal(); at.has_relative_path();
       at = at.parent_path()) {
    const fs::file_status status = fs::status(at);
    if (fs::exists(status) && !fs::is_directory(status)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: {} is not a folder, so it cannot contain results",
           printable(folder.string(), 4096), printable(at.string(), 4096));
    }
    if (fs::exists(status)) {
      return;
    }
  }
}

}  // namespace

void add_job_option(Verb& verb, int64_t& job) {
  verb.option("--job,--job_idx", job,
              "Only this point of the sweep, or job of a study's file, counted from 0")
      .between(0, 1 << 30);
}

void keep_job(const Manifest& manifest, std::vector<Experiment>& experiments, int64_t job) {
  const auto index = static_cast<size_t>(job);
  const bool study = !manifest.study_jobs.empty();
  const size_t jobs = study ? manifest.study_jobs.size() : experiments.size();
  if (index >= jobs) {
    fail(QUENCH_INVALID_ARGUMENT, "--job: got {}, wanted one of the {} {}, 0..{}", job, jobs,
         study ? "jobs" : "points", jobs - 1);
  }
  if (study) {
    keep_study_job(experiments.front(), manifest.study_jobs[index]);
  } else {
    experiments = {experiments[index]};
  }
}

namespace {

// Options of storage on the command line override the manifest, which may have no such section.
void set_storage(const ManifestOptions& options, Manifest& manifest) {
  if (options.storage_limit.empty() && options.evict.empty()) {
    return;
  }
  ManifestStorage storage = manifest.storage.value_or(ManifestStorage());
  if (!options.storage_limit.empty()) {
    const auto bytes = parse_bytes(options.storage_limit);
    if (!bytes || *bytes == 0) {
      fail(QUENCH_INVALID_ARGUMENT, "--storage-limit: got {}, wanted bytes such as 200GB",
           printable(options.storage_limit));
    }
    storage.limit = {*bytes, {"--storage-limit", 0, 0}};
  }
  if (!options.evict.empty()) {
    storage.evict = options.evict == "done";
  }
  manifest.storage = storage;
}

}  // namespace

namespace {

std::vector<std::string> names_of_folders(const LoadedRun& run) {
  std::vector<std::string> out;
  for (const Experiment& experiment : run.experiments) {
    for (const RowFolder& row : row_folders(experiment, folder_places(run.folder))) {
      out.push_back(row.path.lexically_relative(run.folder).generic_string());
    }
  }
  return out;
}

}  // namespace

ReadStudy study_reader(const Context& context) {
  return [&context](const std::filesystem::path& file) {
    const PythonVerb verb{"study", {"--jobs", "--", file.string()}, {"yaml"}};
    return study_manifest(parse_json(python_output(verb, context), file.string()));
  };
}

LoadedRun load_run(const ManifestOptions& options, Context& context, const Resolve& resolve) {
  return as_usage([&] {
    LoadedRun run;
    std::vector<std::string> sets = options.sets;
    if (!options.device.empty()) {
      parse_device(options.device);
      sets.push_back("device=" + options.device);
    }
    if (is_auto_share(options.share)) {
      const EngineShare found = engine_share(options.share, context.engine);
      run.share = found.share;
      run.engine = found.engine;
    } else if (!options.share.empty()) {
      run.share = parse_share(options.share);
    }
    run.manifest = load_manifest(options.manifest, sets, study_reader(context));
    set_storage(options, run.manifest);
    run.experiments = resolve ? resolve(run.manifest)
                              : resolve_manifest(run.manifest, context.catalog(), context.hub(),
                                                 nullptr, report_in_python(context));
    run.folder = options.out.empty() ? std::filesystem::path("runs") / run.manifest.name
                                     : std::filesystem::path(options.out);
    check_folder(run.folder);
    run.folders = names_of_folders(run);
    if (options.job >= 0) {
      keep_job(run.manifest, run.experiments, options.job);
    }
    if (run.share) {
      const Shares shares =
          make_shares(context.catalog(), run.experiments, context.hub(), run.share->of);
      run.experiments = experiments_of(shares, run.share->number, run.experiments);
      run.split_id = shares.id;
    }
    if (!resolve || !run.manifest.storage) {  // else revisions come and go while the run lasts
      locate_checkpoints(run.experiments, context.hub());
    }
    return run;
  });
}

FolderPlaces folder_places(const std::filesystem::path& run) {
  return {run / "averages", run / "exports"};
}

HubEnvironment hub_of(const Context& context, bool fresh) {
  HubEnvironment out = context.hub();
  if (fresh) {
    out.memory.clear();
  }
  return out;
}

RunKnowledge knowledge_of(const LoadedRun& run, Context& context, bool fresh) {
  return {context.catalog(), hub_of(context, fresh), context.home(), run.folder, fresh};
}

}  // namespace quench
