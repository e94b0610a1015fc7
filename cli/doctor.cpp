// quench doctor: describes the installation, as a bug report should.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "cli/command.hpp"
#include "core/fetch/hub_access.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/instruction_set.hpp"
#include "core/plugin/show.hpp"
#include "core/sandbox/sandbox.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown";
}

// The libraries that do not run in this process, each once, and those that would have to and
// cannot; whether there are any of those.
bool print_processes(const Catalog& catalog) {
  bool clash = false;
  std::set<std::filesystem::path> seen;
  for (const PluginDescription& item : catalog.items()) {
    if (catalog.is_shipped(item) && catalog.placed(item).placement == Placement::kShared) {
      continue;
    }
    if (!seen.insert(item.library).second) {
      continue;
    }
    const Placed placed = catalog.placed(item);
    if (placed.placement == Placement::kOwn) {
      fmt::print("own process {}: {}\n", item.library.string(), placed.reason);
    } else if (const std::string conflict = shipped_conflict(catalog, item); !conflict.empty()) {
      clash = true;
      fmt::print("  conflict  {}: {}\n", item.library.string(),
                 clash_refusal(conflict, placed.fixed ? placed.reason : ""));
    }
  }
  return clash;
}

// Which hub `quench fetch` would ask, and as whom; never the token itself.
std::string hub_line(const Context& context) {
  try {
    const HubAccess access = hub_access_from_process(context.hub_environment);
    return fmt::format("{}, {}{}", access.endpoint,
                       access.token.empty() ? "no token" : "a token from " + access.token_from,
                       access.offline ? ", offline" : "");
  } catch (const Error& error) {
    return error.what();
  }
}

int examine(Context& context) {
  utsname system{};
  uname(&system);
  const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES));
  const double gib = pages * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / (1024.0 * 1024 * 1024);
  fmt::print("quench      {}\n", kVersion);
  fmt::print("system      {} {} {}\n", system.sysname, system.release, system.machine);
  fmt::print("processor   {}, {} threads\n", processor_name(), std::thread::hardware_concurrency());
  std::vector<std::string> names;
  for (const InstructionSet instructions : available_instruction_sets()) {
    names.emplace_back(to_text(instructions));
  }
  fmt::print("kernels     {} (the processor has {})\n",
             to_text(HostServices::instance().instructions()), fmt::join(names, ", "));
  fmt::print("memory      {:.1f} GiB\n", gib);
  fmt::print("sandbox     {}\n", sandbox_abilities().text);
  std::string hub;
  try {
    hub = hub_cache_root(context.hub_environment).string();
  } catch (const Error& error) {
    hub = error.what();
  }
  fmt::print("hub cache   {}{}\n", hub, std::filesystem::exists(hub) ? "" : " (missing)");
  fmt::print("hub         {}\n", hub_line(context));
  fmt::print("own cache   {}\n", context.home().string());
  Catalog& catalog = context.catalog();
  for (const auto& folder : catalog.options().search_path) {
    fmt::print("plugins in  {}{}\n", folder.string(),
               std::filesystem::exists(folder) ? "" : " (missing)");
  }
  fmt::print("plugins     {} found, {} shadowed, {} rejected\n", catalog.items().size(),
             catalog.shadowed().size(), catalog.rejected().size());
  for (const Catalog::Rejected& rejected : catalog.rejected()) {
    fmt::print("  rejected  {}: {}\n", rejected.library.string(), rejected.reason);
  }
  std::vector<std::string> shown;
  for (const PluginDescription& item : catalog.items()) {
    for (const LinkedLibrary& link : item.links) {
      const std::string line = fmt::format("{} -> {}", link.soname, link.path.string());
      const bool heavy = link.soname.find("torch") != std::string::npos ||
                         link.soname.find("libarrow") != std::string::npos;
      if (heavy && std::find(shown.begin(), shown.end(), line) == shown.end()) {
        shown.push_back(line);
        fmt::print("library     {}\n", line);
      }
    }
  }
  const bool clash = print_processes(catalog);
  const bool healthy = catalog.rejected().empty() && !catalog.items().empty() && !clash;
  fmt::print("{}\n", healthy ? "no fault found"
                             : "some plugins cannot be used; `quench plugins why ID` says more");
  return healthy ? kExitOk : kExitFailed;
}

}  // namespace

void add_doctor(CommandLine& line, Context& context) {
  Verb verb = line.verb("doctor", "Describe this installation and machine", "Installation");
  verb.examples({"quench doctor"});
  add_plugin_options(verb, context);
  verb.does([&context] { return examine(context); });
}

}  // namespace quench
