#include <cstdlib>
#include <thread>

#include "core/cli/command.hpp"
#include "core/plugin/host_services.hpp"

namespace quench {

Catalog& Context::catalog() {
  if (!catalog_) {
    CatalogOptions options;
    const std::vector<std::filesystem::path> given(plugin_path.begin(), plugin_path.end());
    options.search_path = default_search_path(given, executable, plugin_environment);
    options.cache_dir = cache_dir;
    options.self = executable;
    catalog_ = std::make_unique<Catalog>(std::move(options));
  }
  return *catalog_;
}

void Context::apply_threads() const {
  const unsigned count = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  HostServices::instance().set_threads(count);
  // OpenMP reads these once, when the first library that uses it is loaded. Passive waiting leaves
  // the cores to the host's own tasks between two calls.
  ::setenv("OMP_NUM_THREADS", std::to_string(count).c_str(), 1);
  ::setenv("OMP_WAIT_POLICY", "PASSIVE", 1);
  ::setenv("OMP_DYNAMIC", "FALSE", 1);
}

void add_plugin_options(CLI::App& command, Context& context) {
  command
      .add_option("--plugin-path", context.plugin_path,
                  "Folder to search for plugins first; may be given several times")
      ->type_name("DIR");
}

void add_thread_option(CLI::App& command, Context& context) {
  command.add_option("--threads", context.threads, "Threads to use (default: all cores)")
      ->check(CLI::Range(1, 1024));
}

}  // namespace quench
