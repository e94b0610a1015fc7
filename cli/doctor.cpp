// quench doctor: describes the installation, as a bug report should.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "cli/terminal_text.hpp"
#include "core/base/json/or_null.hpp"
#include "core/hub/fetch/hub_access.hpp"
#include "core/plugin/catalog/show.hpp"
#include "core/plugin/library/device_part.hpp"
#include "core/plugin/sandbox/sandbox.hpp"
#include "core/plugin/services/devices.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/instruction_set.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr size_t kLabel = 12;  // columns before what a line says
constexpr double kGib = 1024.0 * 1024 * 1024;

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) {
      return line.substr(line.find(':') + 2);
    }
  }
  return "unknown";
}

// Adds the libraries that do not run in this process, each once.
void add_processes(const Catalog& catalog, json& plugins) {
  plugins["own_process"] = json::array();
  std::set<std::filesystem::path> seen;
  for (const PluginDescription& item : catalog.items()) {
    const Placed placed = catalog.placed(item);
    if (placed.placement == Placement::kOwn && seen.insert(item.library).second) {
      plugins["own_process"].push_back(
          {{"library", item.library.string()}, {"reason", placed.reason}});
    }
  }
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

// A folder that should be there.
json folder_json(const std::filesystem::path& folder) {
  return {{"folder", folder.string()}, {"exists", std::filesystem::exists(folder)}};
}

// As NVIDIA writes it: 13020 is CUDA 13.2.
std::string cuda_version(int number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

json hub_cache_json(const Context& context) {
  try {
    return folder_json(hub_cache_root(context.hub_environment));
  } catch (const Error& error) {
    return {{"folder", error.what()}, {"exists", false}};
  }
}

json plugins_json(const Catalog& catalog) {
  json out = {{"folders", json::array()},
              {"found", catalog.items().size()},
              {"all_built", catalog.is_whole()},
              {"shadowed", catalog.shadowed().size()},
              {"rejected", json::array()}};
  for (const auto& folder : catalog.options().search_path) {
    out["folders"].push_back(folder_json(folder));
  }
  for (const Catalog::Rejected& rejected : catalog.rejected()) {
    out["rejected"].push_back(
        {{"library", rejected.library.string()}, {"reason", rejected.reason}});
  }
  add_processes(catalog, out);
  return out;
}

// The large libraries of plugins, of which an installation may have several: "libtorch.so -> path".
json heavy_libraries(const Catalog& catalog) {
  json out = json::array();
  for (const PluginDescription& item : catalog.items()) {
    for (const LinkedLibrary& link : item.links) {
      const json line = fmt::format("{} -> {}", link.soname, link.path.string());
      const bool heavy = link.soname.find("torch") != std::string::npos ||
                         link.soname.find("libarrow") != std::string::npos;
      if (heavy && std::find(out.begin(), out.end(), line) == out.end()) {
        out.push_back(line);
      }
    }
  }
  return out;
}

// What computes on GPUs of the library that plugins run on, and what it lacks.
json device_part_json(const Catalog& catalog) {
  for (const PluginDescription& item : catalog.items()) {
    const auto part = catalog.is_shipped(item) ? device_part(item.links) : std::nullopt;
    if (part && std::filesystem::exists(*part)) {
      return {{"path", part->string()}, {"missing", missing_libraries(*part)}};
    }
  }
  return nullptr;
}

json gpus_json(Context& context) {
  const Gpus& found = gpus();
  json out = {{"devices", json::array()},
              {"driver_cuda", found.cuda == 0 ? json() : json(cuda_version(found.cuda))},
              {"absence", or_null(found.absence)},
              {"libtorch", device_part_json(context.catalog())},
              {"kernels", nullptr}};
  for (const Gpu& gpu : found.devices) {
    out["devices"].push_back({{"name", gpu.name},
                              {"capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                              {"memory_bytes", gpu.memory}});
  }
  const auto kernels = context.executable.parent_path() / "../lib/quench/cuda/kernels.so";
  if (std::filesystem::exists(kernels)) {
    out["kernels"] = kernels.lexically_normal().string();
  }
  return out;
}

json describe(Context& context) {
  utsname system{};
  uname(&system);
  std::vector<std::string> kernels;
  for (const InstructionSet instructions : available_instruction_sets()) {
    kernels.emplace_back(to_text(instructions));
  }
  json out = {
      {"version", kVersion},
      {"system", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
      {"processor", {{"name", processor_name()}, {"threads", std::thread::hardware_concurrency()}}},
      {"kernels",
       {{"used", to_text(HostServices::instance().instructions())}, {"available", kernels}}},
      {"memory_bytes", static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                           static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE))},
      {"gpus", gpus_json(context)},
      {"sandbox", sandbox_abilities().text},
      {"hub_cache", hub_cache_json(context)},
      {"hub", hub_line(context)},
      {"own_cache", context.home().string()},
      {"plugins", plugins_json(context.catalog())},
      {"libraries", heavy_libraries(context.catalog())}};
  const json& plugins = out["plugins"];
  out["healthy"] = plugins["rejected"].empty() && plugins["found"] != 0;
  return out;
}

void print_fact(std::string_view label, const std::string& text) {
  fmt::print(results(), "{}\n", fitted_lines(fmt::format("{:<11} {}", label, text), kLabel));
}

void print_folder(std::string_view label, const json& folder) {
  print_fact(label, folder.at("folder").get<std::string>() +
                        (folder.at("exists").get<bool>() ? "" : " (missing)"));
}

void print_libraries(std::string_view label, const json& libraries) {
  for (const json& each : libraries) {
    print_fact(label, fmt::format("{}: {}", each.at("library").get<std::string>(),
                                  each.at("reason").get<std::string>()));
  }
}

void print_gpus(const json& found) {
  const json& devices = found.at("devices");
  for (size_t i = 0; i < devices.size(); ++i) {
    print_fact("gpu", fmt::format("cuda:{}: {}, compute capability {}, {:.1f} GiB", i,
                                  devices[i].at("name").get<std::string>(),
                                  devices[i].at("capability").get<std::string>(),
                                  devices[i].at("memory_bytes").get<double>() / kGib));
  }
  if (const json& absence = found.at("absence"); !absence.is_null()) {
    print_fact("gpu", "none: " + absence.get<std::string>());
  }
  if (const json& cuda = found.at("driver_cuda"); !cuda.is_null()) {
    print_fact("gpu driver", "serves CUDA " + cuda.get<std::string>());
  }
  if (const json& part = found.at("libtorch"); part.is_null()) {
    print_fact("gpu libtorch", "none was found");
  } else {
    const auto missing = part.at("missing").get<std::vector<std::string>>();
    print_fact(
        "gpu libtorch",
        part.at("path").get<std::string>() +
            (missing.empty() ? ""
                             : fmt::format("; it cannot be loaded, for these are not installed: {}",
                                           fmt::join(missing, ", "))));
  }
  const json& kernels = found.at("kernels");
  print_fact("gpu kernels",
             kernels.is_null() ? "not built: nvcc was not found" : kernels.get<std::string>());
}

void print_text(const json& about) {
  const auto text = [&](const char* name) { return about.at(name).get<std::string>(); };
  const json& processor = about.at("processor");
  const json& kernels = about.at("kernels");
  print_fact("quench", text("version"));
  print_fact("system", text("system"));
  print_fact("processor", fmt::format("{}, {} threads", processor.at("name").get<std::string>(),
                                      processor.at("threads").get<unsigned>()));
  print_fact("kernels",
             fmt::format("{} (the processor has {})", kernels.at("used").get<std::string>(),
                         fmt::join(kernels.at("available").get<std::vector<std::string>>(), ", ")));
  print_fact("memory", fmt::format("{:.1f} GiB", about.at("memory_bytes").get<double>() / kGib));
  print_gpus(about.at("gpus"));
  print_fact("sandbox", text("sandbox"));
  print_folder("hub cache", about.at("hub_cache"));
  print_fact("hub", text("hub"));
  print_fact("own cache", text("own_cache"));
  const json& plugins = about.at("plugins");
  for (const json& folder : plugins.at("folders")) {
    print_folder("plugins in", folder);
  }
  print_fact("plugins",
             fmt::format("{} found, {} shadowed, {} rejected{}", plugins.at("found").get<size_t>(),
                         plugins.at("shadowed").get<size_t>(), plugins.at("rejected").size(),
                         plugins.at("all_built").get<bool>()
                             ? ""
                             : "; not all are built: ./dev build makes the others"));
  print_libraries("  rejected", plugins.at("rejected"));
  for (const json& library : about.at("libraries")) {
    print_fact("library", library.get<std::string>());
  }
  print_libraries("own process", plugins.at("own_process"));
  fmt::print(results(), "{}\n",
             fitted_lines(about.at("healthy").get<bool>()
                              ? "no fault found"
                              : "some plugins cannot be used; `quench plugins why ID` says more"));
}

int examine(Context& context) {
  json about = describe(context);
  const bool healthy = about.at("healthy").get<bool>();
  if (answers()) {
    answer(std::move(about));
  } else {
    print_text(about);
  }
  return healthy ? kExitOk : incomplete("some plugins cannot be used");
}

}  // namespace

void add_doctor(Verb& verb, Context& context) {
  verb.examples({"quench doctor"});
  add_plugin_options(verb, context);
  verb.json();
  verb.does([&context] { return examine(context); });
}

}  // namespace quench
