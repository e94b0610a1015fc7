#include <algorithm>
#include <thread>

#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "core/plugin/host_services.hpp"

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
    options.cache_dir = home();
    options.self = executable;
    options.before_loading = divert_plugin_output;
    options.counts_as = [this](const nlohmann::json& code) {
      return equivalences().canonical_code(code);
    };
    catalog_ = std::make_unique<Catalog>(std::move(options));
  }
  return *catalog_;
}

Equivalences& Context::equivalences() {
  if (!equivalences_) {
    equivalences_.emplace(home());
  }
  return *equivalences_;
}

void Context::assume(const Equivalence& equivalence) {
  forget_assumed();
  equivalences().assume(equivalence);
}

void Context::forget_assumed() {
  catalog_.reset();
  equivalences_.reset();
}

void Context::apply_threads() const {
  const unsigned count = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  HostServices::instance().set_threads(count);
}

std::string Context::command_line() const {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
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
    if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string::npos) {
      out += argument;
      continue;
    }
    out += "'";
    for (const char c : argument) {
      out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    out += "'";
  }
  return out;
}

void add_plugin_options(CLI::App& command, Context& context) {
  command
      .add_option("--plugin-path", context.plugin_path,
                  "Folder to search for plugins first; repeatable")
      ->type_name("DIR");
}

void add_thread_option(CLI::App& command, Context& context) {
  command.add_option("--threads", context.threads, "Number of threads (default: all cores)")
      ->check(CLI::Range(1, 1024));
}

}  // namespace quench
