// Declarations that all subcommands share.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/log_levels.hpp"
#include "core/base/io/passing_fault.hpp"
#include "core/error.hpp"
#include "core/hub/claim.hpp"
#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "core/plugin/worker/served_plugins.hpp"
#include "core/store/equivalences.hpp"
#include "core/store/home.hpp"

namespace quench {

// Exit codes, as documented.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;         // a cell failed; the others are finished
inline constexpr int kExitUsage = 2;          // bad command line or manifest
inline constexpr int kExitBeyond = 3;         // gate: the budget is exceeded
inline constexpr int kExitUndecided = 4;      // gate: neither that nor the opposite is shown
inline constexpr int kExitResumable = 75;     // stopped on request (SIGTERM, SIGUSR1)
inline constexpr int kExitInterrupted = 130;  // Ctrl-C

// Throws UsageError if the user's input caused `error`; otherwise does nothing.
inline void throw_if_usage(const Error& error) {
  if (error.code() == QUENCH_INVALID_ARGUMENT || error.code() == QUENCH_NOT_FOUND) {
    throw UsageError(error.code(), error.what());
  }
}

// The standard library's message about a path, as one line: "PATH: File name too long".
inline std::string path_message(const std::filesystem::filesystem_error& error) {
  return fmt::format("{}: {}", printable(error.path1().string(), 200), error.code().message());
}

// Likewise of a path. What may pass by itself (a network's file system, a lack of memory, of open
// files or of space) is not the user's to change.
inline void throw_if_usage(const std::filesystem::filesystem_error& error) {
  if (!is_passing_fault(error.code().value())) {
    throw UsageError(QUENCH_INVALID_ARGUMENT, path_message(error));
  }
}

// Runs `body`; reports a wrong argument, a missing object or an invalid path in it as an error of
// the user's input.
template <typename Body>
auto as_usage(Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const Error& error) {
    throw_if_usage(error);
    throw;
  } catch (const std::filesystem::filesystem_error& error) {
    throw_if_usage(error);
    throw;
  }
}

// The process as commands see it. Only main reads the environment.
struct Context {
  std::filesystem::path executable;
  HomeEnvironment home_environment;
  PluginEnvironment plugin_environment;
  HubEnvironment hub_environment;
  PythonSetup python;
  std::vector<std::filesystem::path> python_environments;  // VIRTUAL_ENV, CONDA_PREFIX
  // Those of these variables that are set and that a task on another machine needs, too: names and
  // values. No secret is among them.
  std::vector<std::pair<std::string, std::string>> installation;
  // Those of engine_variables() that are set, for `--share auto`.
  std::map<std::string, std::string> engine;
  std::vector<std::string> plugin_path;   // --plugin-path
  std::vector<std::string> in_process;    // --in-process
  std::string sandbox = "strict";         // --sandbox
  std::vector<std::string> debug_worker;  // --debug-worker
  double worker_silence = 600;            // --worker-silence, seconds
  double worker_time = 0;                 // --worker-time, seconds; 0: no limit
  uint64_t worker_memory = 0;             // --worker-memory, bytes; 0: no limit
  unsigned threads = 0;                   // --threads; 0: all cores
  std::string log_level;                  // --log-level
  bool quiet = false;                     // -q
  bool verbose = false;                   // -v
  std::vector<std::string> arguments;     // the command line, for messages that repeat it
  const CommandLine* line = nullptr;      // what can be typed

  // QUENCH_HOME: found, created and checked to be this user's, once. Throws UsageError.
  const std::filesystem::path& home() const;
  // The hub's cache; home() remembers which of its files are intact.
  HubEnvironment hub() const;
  // Scans the search path, once. Throws UsageError for a wrong --in-process.
  Catalog& catalog();
  // How plugins in processes of their own are started.
  WorkerOptions worker_options() const;
  // Builds of plugins that compute the same, as adopted in home().
  Equivalences& equivalences();
  // From here on these count, too, in memory alone, in place of those assumed before. The catalog
  // is another one then: pointers into the one before are not valid any more.
  void assume(const std::vector<Equivalence>& pairs);
  void forget_assumed();
  // What -q, -v and --log-level let through; with --json, usually warnings and errors alone.
  // Throws UsageError.
  LogLevels log_levels() const;
  // Sets the host's thread budget; the catalog passes it to OpenMP when it loads a plugin.
  void apply_threads() const;
  // What plugins' own processes were, for the run's folder (ServedPlugins::processes).
  nlohmann::json processes() const;
  // The command line in shell syntax, without --retry and --fresh.
  std::string command_line() const;

 private:
  std::unique_ptr<ServedPlugins> served_;  // outlives every catalog
  std::unique_ptr<Catalog> catalog_;
  std::optional<Equivalences> equivalences_;
  mutable std::optional<std::filesystem::path> home_;
};

// The options and the work of each verb (cli/program.cpp has the table).
void add_init(Verb& verb, Context& context);
void add_import(Verb& verb, Context& context);
void add_plan(Verb& verb, Context& context);
void add_fetch(Verb& verb, Context& context);
void add_run(Verb& verb, Context& context);
void add_submit(Verb& verb, Context& context);
void add_status(Verb& verb, Context& context);
void add_why(Verb& verb, Context& context);
void add_adopt(Verb& verb, Context& context);
void add_results(Verb& verb, Context& context);
void add_report(Verb& verb, Context& context);
void add_diff(Verb& verb, Context& context);
void add_merge(Verb& verb, Context& context);
void add_verify(Verb& verb, Context& context);
void add_forget(Verb& verb, Context& context);
void add_export(Verb& verb, Context& context);
void add_watch(Verb& verb, Context& context);
void add_eval(Verb& verb, Context& context);
void add_gate(Verb& verb, Context& context);
void add_compare(Verb& verb, Context& context);
void add_quantize(Verb& verb, Context& context);
void add_average(Verb& verb, Context& context);
void add_layer(Verb& verb, Context& context);
void add_logits(Verb& verb, Context& context);
void add_tokenize(Verb& verb, Context& context);
void add_plugins(Verb& verb, Context& context);
void add_doctor(Verb& verb, Context& context);
void add_schema(Verb& verb, Context& context);
void add_clean(Verb& verb, Context& context);
void add_completion(Verb& verb, Context& context);

// What a command claims in the hub's cache while it reads checkpoints, so that no run that evicts
// takes their weights away: the commits of hubs that these are, as far as the cache knows them.
HubClaim::Commits hub_commits(const std::vector<CheckpointCell>& checkpoints,
                              const Context& context);

// Options of several subcommands.
void add_plugin_options(Verb& verb, Context& context);
void add_thread_option(Verb& verb, Context& context);
void add_log_options(Verb& verb, Context& context);

}  // namespace quench
