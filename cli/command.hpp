// Declarations that all subcommands share.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/hub/environment.hpp"
#include "core/plugin/catalog.hpp"
#include "core/plugin/search_path.hpp"
#include "core/store/equivalences.hpp"
#include "core/store/home.hpp"

namespace quench {

// Exit codes, as documented.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;         // a cell failed; the others are finished
inline constexpr int kExitUsage = 2;          // bad command line or manifest
inline constexpr int kExitResumable = 75;     // stopped on request (SIGTERM, SIGUSR1)
inline constexpr int kExitInterrupted = 130;  // Ctrl-C

// The command line or a manifest is wrong, not the work: exit code 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

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
    throw UsageError(QUENCH_INVALID_ARGUMENT, path_message(error));
  }
}

// The process as commands see it. Only main reads the environment.
struct Context {
  std::filesystem::path executable;
  HomeEnvironment home_environment;
  PluginEnvironment plugin_environment;
  HubEnvironment hub_environment;
  std::vector<std::string> plugin_path;  // --plugin-path
  unsigned threads = 0;                  // --threads; 0: all cores
  std::vector<std::string> arguments;    // the command line, for messages that repeat it

  // QUENCH_HOME: found, created and checked to be this user's, once. Throws UsageError.
  const std::filesystem::path& home() const;
  // The hub's cache; home() remembers which of its files are intact.
  HubEnvironment hub() const;
  // Scans the search path, once.
  Catalog& catalog();
  // Builds of plugins that compute the same, as adopted in home().
  Equivalences& equivalences();
  // From here on this one counts, too, in memory alone. The catalog is another one then: pointers
  // into the one before are not valid any more.
  void assume(const Equivalence& equivalence);
  void forget_assumed();
  // Sets the host's thread budget; the catalog passes it to OpenMP when it loads a plugin.
  void apply_threads() const;
  // The command line in shell syntax, without --retry and --fresh.
  std::string command_line() const;

 private:
  std::unique_ptr<Catalog> catalog_;
  std::optional<Equivalences> equivalences_;
  mutable std::optional<std::filesystem::path> home_;
};

// The work of the chosen subcommand; returns the exit code.
using Action = std::function<int()>;

void add_run(CLI::App& app, Context& context, Action& action);
void add_plan(CLI::App& app, Context& context, Action& action);
void add_adopt(CLI::App& app, Context& context, Action& action);
void add_why(CLI::App& app, Context& context, Action& action);
void add_eval(CLI::App& app, Context& context, Action& action);
void add_average(CLI::App& app, Context& context, Action& action);
void add_layer(CLI::App& app, Context& context, Action& action);
void add_tokenize(CLI::App& app, Context& context, Action& action);
void add_plugins(CLI::App& app, Context& context, Action& action);
void add_quantize(CLI::App& app, Context& context, Action& action);
void add_results(CLI::App& app, Context& context, Action& action);
void add_verify(CLI::App& app, Context& context, Action& action);
void add_forget(CLI::App& app, Context& context, Action& action);
void add_clean(CLI::App& app, Context& context, Action& action);
void add_diff(CLI::App& app, Context& context, Action& action);
void add_status(CLI::App& app, Context& context, Action& action);
void add_schema(CLI::App& app, Context& context, Action& action);
void add_init(CLI::App& app, Context& context, Action& action);
void add_doctor(CLI::App& app, Context& context, Action& action);
void add_report(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);

// Options of several subcommands.
void add_plugin_options(CLI::App& command, Context& context);
void add_thread_option(CLI::App& command, Context& context);

}  // namespace quench
