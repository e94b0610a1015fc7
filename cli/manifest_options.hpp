// Shared by subcommands with a manifest: its options, its experiments, and what is already known
// about them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "run/grid/grid.hpp"
#include "run/grid/shares.hpp"
#include "run/manifest/manifest.hpp"
#include "run/row_folders.hpp"

namespace quench {

struct ManifestOptions {
  std::string manifest;
  std::string out;
  std::vector<std::string> sets;
  std::string device;
  std::string storage_limit;
  std::string evict;
  int64_t job = -1;   // point of the sweep, or job of a study's file; -1: all
  std::string share;  // "2/3", "auto"; empty: all
};

// Adds MANIFEST, --set, --device, --storage-limit, --evict, --job, --out, --json and the plugin
// path.
void add_manifest_options(Verb& verb, Context& context, ManifestOptions& options);
// Adds --share.
Option add_share_option(Verb& verb, ManifestOptions& options);

// Adds --job alone.
void add_job_option(Verb& verb, int64_t& job);
// Leaves the experiment, or its cells, of this job. Throws Error for a job that does not exist.
void keep_job(const Manifest& manifest, std::vector<Experiment>& experiments, int64_t job);

// A resolved manifest and the folder of its run.
struct LoadedRun {
  Manifest manifest;
  std::vector<Experiment> experiments;  // none: the share has nothing to do
  std::filesystem::path folder;
  std::optional<Share> share;
  std::string engine;    // that gave the share, or ""
  std::string split_id;  // Shares::id, with a share
  // Folders of weights below the run's folder: all that the manifest asks for, in every share.
  std::vector<std::string> folders;
};
// Reads files of the study in Python (cli/python_verb.hpp).
ReadStudy study_reader(const Context& context);
// Makes experiments of a manifest; by default the cache knows the revisions of hub models.
using Resolve = std::function<std::vector<Experiment>(const Manifest&)>;
// Throws UsageError with all problems.
LoadedRun load_run(const ManifestOptions& options, Context& context, const Resolve& resolve = {});

// The folders where a run writes weights.
FolderPlaces folder_places(const std::filesystem::path& run);

// The hub's cache; `fresh`: without the memory of which of its files are intact.
HubEnvironment hub_of(const Context& context, bool fresh);

// `fresh`: no hash of a file that an earlier command remembered is believed.
RunKnowledge knowledge_of(const LoadedRun& run, Context& context, bool fresh = false);

}  // namespace quench
