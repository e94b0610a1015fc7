#include <algorithm>
#include <thread>
#include <vector>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "core/base/process/shell_word.hpp"
#include "core/error.hpp"
#include "core/hub/cached_repository.hpp"
#include "core/hub/resolve.hpp"
#include "core/plugin/catalog/announced_plugins.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

const std::filesystem::path& Context::home() const {
  if (!home_) {
    try {
      const std::filesystem::path home = find_home(home_environment);
      open_home(home);
      home_ = home;
    } catch (const Error& error) {
      throw UsageError(error.code(), error.what());
    }
  }
  return *home_;
}

HubEnvironment Context::hub() const {
  HubEnvironment environment = hub_environment;
  environment.memory = home();
  return environment;
}

Catalog& Context::catalog() {
  if (!catalog_) {
    CatalogOptions options;
    const std::vector<std::filesystem::path> given(plugin_path.begin(), plugin_path.end());
    options.search_path = default_search_path(given, executable, plugin_environment);
    const auto announced = announced_plugins(python_environments);
    options.search_path.insert(options.search_path.end() - (executable.empty() ? 0 : 1),
                               announced.begin(), announced.end());
    for (const std::filesystem::path& folder : options.search_path) {
      if (!folder.is_absolute()) {
        throw UsageError(
            QUENCH_INVALID_ARGUMENT,
            fmt::format("QUENCH_PLUGIN_PATH: got {}, wanted absolute folders", folder.string()));
      }
    }
    options.cache_dir = home();
    options.self = executable;
    options.python = python;
    options.before_loading = divert_plugin_output;
    options.counts_as = [this](const nlohmann::json& code) {
      return equivalences().canonical_code(code);
    };
    options.sandbox = sandbox == "off" ? Sandbox::kOff : Sandbox::kStrict;
    if (!served_) {
      served_ = std::make_unique<ServedPlugins>(worker_options());
    }
    options.starts_in_worker = [this](const PluginDescription& description) {
      return served_->starts(description);
    };
    options.load_in_worker = [this](const PluginDescription& description) -> const quench_item& {
      return served_->load(description);
    };
    auto found = std::make_unique<Catalog>(std::move(options));
    for (const std::string& replaced : found->replaced()) {
      HostServices::instance().log(QUENCH_LOG_WARNING, "", replaced);
    }
    for (const std::string& plugin : in_process) {
      if (const std::string fault = found->in_process_fault(plugin); !fault.empty()) {
        throw UsageError(QUENCH_NOT_FOUND, "--in-process: " + fault);
      }
    }
    found->in_process().command_line = in_process;
    catalog_ = std::move(found);
  }
  return *catalog_;
}

WorkerOptions Context::worker_options() const {
  WorkerOptions out;
  out.self = executable;
  out.python = python;
  out.sandbox = sandbox != "off";
  out.debug.insert(debug_worker.begin(), debug_worker.end());
  out.limits.silence_seconds = worker_silence;
  out.limits.call_seconds = worker_time;
  out.limits.memory_bytes = worker_memory;
  return out;
}

nlohmann::json Context::processes() const {
  return served_ ? served_->processes() : nlohmann::json::array();
}

Equivalences& Context::equivalences() {
  if (!equivalences_) {
    equivalences_.emplace(home());
  }
  return *equivalences_;
}

void Context::assume(const std::vector<Equivalence>& pairs) {
  forget_assumed();
  for (const Equivalence& pair : pairs) {
    equivalences().assume(pair);
  }
}

void Context::forget_assumed() {
  catalog_.reset();
  equivalences_.reset();
}

LogLevels Context::log_levels() const {
  const int usual = verbose              ? QUENCH_LOG_DEBUG
                    : quiet || answers() ? QUENCH_LOG_WARNING
                                         : QUENCH_LOG_INFO;
  return as_usage([&] { return LogLevels::parse(log_level, usual); });
}

HubClaim::Commits hub_commits(const std::vector<CheckpointCell>& checkpoints,
                              const Context& context) {
  HubClaim::Commits out;
  for (const CheckpointCell& cell : checkpoints) {
    if (!is_hub_spec(cell.location)) {
      continue;
    }
    try {
      const std::string commit =
          cell.located ? cell.located->commit : known_commit(cell.location, context.hub());
      if (commit.empty()) {  // the cache has nothing of it
        continue;
      }
      const CachedRepository repository(hub_cache_root(context.hub_environment),
                                        parse_hub_spec(cell.location));
      out[repository.folder()].insert(commit);
    } catch (const Error&) {
      continue;  // reported when it is opened
    }
  }
  return out;
}

void Context::apply_threads() const {
  const unsigned count = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  HostServices::instance().set_threads(count);
}

std::string Context::command_line() const {
  std::string out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--fresh" || argument == "--retry=failed") {
      continue;
    }
    if (argument == "--retry") {
      ++i;
      continue;
    }
    out += out.empty() ? "" : " ";
    out += shell_word(argument);
  }
  return out;
}

void add_plugin_options(Verb& verb, Context& context) {
  const std::string heading = "Plugins from elsewhere";
  verb.option("--plugin-path", context.plugin_path,
              "Folder to search for plugins first; repeatable")
      .placeholder("DIR")
      .group(heading);
  verb.option("--in-process", context.in_process,
              "A plugin (id, or kind/id) that did not come with quench and runs in its process all "
              "the same; repeatable")
      .placeholder("PLUGIN")
      .one_value_each()
      .group(heading);
  verb.option("--sandbox", context.sandbox,
              "off: plugins in processes of their own may do what this user may")
      .one_of({"strict", "off"})
      .show_default()
      .group(heading);
  verb.option("--worker-silence", context.worker_silence,
              "Seconds that a plugin in a process of its own may compute without a sign of life; "
              "0: no limit")
      .not_negative()
      .placeholder("SECONDS")
      .show_default()
      .group(heading);
  verb.option("--worker-time", context.worker_time,
              "Seconds that one call of such a plugin may take in all (default: no limit)")
      .not_negative()
      .placeholder("SECONDS")
      .group(heading);
  verb.option("--worker-memory", context.worker_memory,
              "Memory that each such process may hold, such as 8GB (default: no limit)")
      .bytes()
      .group(heading);
  verb.option("--debug-worker", context.debug_worker,
              "Plugin id whose process waits for a debugger before it loads the plugin; "
              "repeatable")
      .placeholder("ID")
      .one_value_each()
      .group(heading);
}

void add_log_options(Verb& verb, Context& context) {
  const Option level =
      verb.option(
              "--log-level", context.log_level,
              "debug, info, warning, error or off; PLUGIN=LEVEL for one plugin: info,gptq=debug")
          .placeholder("LEVELS");
  const Option quiet = verb.flag("-q,--quiet", context.quiet, "Only warnings and errors");
  const Option verbose = verb.flag("-v,--verbose", context.verbose, "Details, too");
  verb.exclusive({level, quiet, verbose});
}

void add_thread_option(Verb& verb, Context& context) {
  verb.option("--threads", context.threads, "Number of threads (default: all cores)")
      .between(1, 1024);
}

}  // namespace quench
