#include "core/plugin/catalog/describe.hpp"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <system_error>
#include <vector>

#include "core/base/process/child_process.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/floating_state.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/description.hpp"
#include "core/plugin/catalog/trial.hpp"
#include "core/plugin/library/elf_file.hpp"
#include "core/plugin/library/library.hpp"
#include "core/plugin/library/links.hpp"
#include "core/plugin/library/module_reader.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// State of the process that a plugin has no business with.
struct ProcessState {
  std::string locale;
  std::string folder;
  FloatingState floating = FloatingState::now();
  std::vector<void (*)(int)> handlers;

  static ProcessState now() {
    ProcessState state;
    const char* locale = std::setlocale(LC_ALL, nullptr);
    state.locale = locale == nullptr ? "" : locale;
    std::error_code error;
    state.folder = fs::current_path(error).string();
    for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGUSR1, SIGABRT}) {
      struct sigaction action {};
      sigaction(signal, nullptr, &action);
      state.handlers.push_back(action.sa_handler);
    }
    return state;
  }

  // What is different in `later`, or "".
  std::string change(const ProcessState& later) const {
    if (locale != later.locale) {
      return "the locale";
    }
    if (folder != later.folder) {
      return "the working directory";
    }
    if (floating != later.floating) {
      return "the floating-point environment";
    }
    return handlers != later.handlers ? "the signal handlers" : "";
  }
};

size_t count_threads() {
  size_t count = 0;
  std::error_code error;
  for (fs::directory_iterator entry("/proc/self/task", error), end; !error && entry != end;
       entry.increment(error)) {
    ++count;
  }
  return count;
}

void check_manners(const ProcessState& before, size_t threads, json& findings) {
  if (has_children()) {
    fail(QUENCH_FAILED_PRECONDITION, "starts a process when it is loaded");
  }
  if (const std::string change = before.change(ProcessState::now()); !change.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "changes {} when it is loaded", change);
  }
  if (const size_t now = count_threads(); now > threads) {
    findings.push_back(fmt::format("starts {} thread(s) when it is loaded", now - threads));
  }
}

// What the library needs by name, and what it loaded beyond that.
std::vector<LinkedLibrary> links_of(const fs::path& library,
                                    const std::vector<LinkedLibrary>& before) {
  const std::vector<LinkedLibrary> now = loaded_libraries();
  std::vector<LinkedLibrary> links = needed_libraries(library);
  for (const LinkedLibrary& link : now) {
    const auto is_it = [&](const LinkedLibrary& other) { return other.path == link.path; };
    if (link.path != library && std::none_of(before.begin(), before.end(), is_it) &&
        std::none_of(links.begin(), links.end(), is_it)) {
      links.push_back(link);
    }
  }
  return links;
}

json describe(const std::vector<PluginDescription>& items) {
  json out = {{"items", json::array()}};
  for (const PluginDescription& item : items) {
    out["items"].push_back(description_to_json(item));
    out["items"].back()["instance"] = instance_to_json(item);
    out["module"] = {
        {"id", item.module_id}, {"version", item.module_version}, {"build", item.build}};
  }
  return out;
}

json links_to_json(const std::vector<LinkedLibrary>& links) {
  json out = json::array();
  for (const LinkedLibrary& link : links) {
    out.push_back(
        {{"soname", link.soname}, {"path", link.path.string()}, {"build_id", link.build_id}});
  }
  return out;
}

}  // namespace

json describe_library(const fs::path& library, bool create, const EnterPhase& enter) {
  json findings = json::array();
  read_elf(library);  // says what is wrong with a file that is none
  const std::vector<LinkedLibrary> before = loaded_libraries();
  if (std::string conflict = link_conflict(bundled_libraries(library), before); !conflict.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}", conflict);
  }
  const ProcessState state = ProcessState::now();
  const size_t threads = count_threads();

  enter("while it was loaded");
  const quench_module* module = open_library(library);
  if (std::string displaced = displaced_library(library, loaded_libraries()); !displaced.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}", displaced);
  }
  enter("while its module was read");
  std::vector<PluginDescription> items = read_module(*module);
  enter("in init");
  quench_error error{sizeof(quench_error), 0, {}};
  const quench_status status = module->init(HostServices::instance().host_for(module->id), &error);
  if (status != QUENCH_OK) {
    throw_status("init", "init", status, error);
  }
  check_manners(state, threads, findings);
  for (uint32_t i = 0; i < items.size(); ++i) {
    enter(fmt::format("while {} was created", plugin_label(items[i])));
    items[i].instance = default_instance(items[i], *module->items[i]);
  }
  json out = describe(items);
  if (create) {
    for (uint32_t i = 0; i < items.size(); ++i) {
      enter(fmt::format("while {} was created", plugin_label(items[i])));
      if (std::string finding = try_item(items[i], *module->items[i]); !finding.empty()) {
        findings.push_back(std::move(finding));
      }
    }
  }
  if (module->shutdown != nullptr) {
    enter("in shutdown");
    module->shutdown();
  }
  enter("after its shutdown");
  out["links"] = links_to_json(links_of(library, before));
  out["findings"] = std::move(findings);
  return out;
}

}  // namespace quench
