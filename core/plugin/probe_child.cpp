// The child's side of probing. Lines on descriptor 3: "@phase" before each step that runs the
// plugin's code, then one JSON object, the last line.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "core/base/process/child_process.hpp"
#include "core/error.hpp"
#include "core/plugin/elf_file.hpp"
#include "core/plugin/host_services.hpp"
#include "core/plugin/library.hpp"
#include "core/plugin/links.hpp"
#include "core/plugin/module_reader.hpp"
#include "core/plugin/parameters.hpp"
#include "core/plugin/probe.hpp"
#include "core/plugin/sandbox/sandbox.hpp"
#include "core/plugin/search_path.hpp"
#include "core/plugin/table_call.hpp"
#include "core/plugin/trial.hpp"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace quench {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kReport = 3;
pid_t probe_process = 0;
bool is_confined = false;  // --confined: the library is a stranger's

void write_line(std::string line) {
  if (getpid() != probe_process) {
    _exit(0);  // a process that the plugin forked off
  }
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t wrote = write(kReport, line.data() + done, line.size() - done);
    if (wrote <= 0) {
      _exit(3);  // the parent is gone
    }
    done += static_cast<size_t>(wrote);
  }
}

void enter_phase(const std::string& name) {
  write_line("@" + name);
}

// Lets a stranger's library, which is loaded next, read what its worker may (core/plugin/worker) as
// far as that is known before it was loaded. It writes nowhere.
void confine(const fs::path& library) {
  if (!is_confined) {
    return;
  }
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  // In a build the libraries of the program's own plugins lie behind a link.
  std::set<fs::path> files = {library.parent_path(), program.parent_path().parent_path(),
                              own_plugins(program) / "deps"};
  for (const LinkedLibrary& link : bundled_libraries(library)) {
    files.insert(link.path.parent_path());
  }
  const char* loader = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(loader == nullptr ? "" : loader);
  for (std::string folder; std::getline(folders, folder, ':');) {
    files.insert(folder);
  }
  SandboxRequest request;
  for (const fs::path& file : files) {
    if (file.is_absolute() && fs::exists(file, unknown)) {
      request.readable.push_back(file);
    }
  }
  enter_sandbox(request);
}

// State of the process that a plugin has no business with.
struct ProcessState {
  std::string locale;
  std::string folder;
  int rounding = 0;
  unsigned control = 0;  // MXCSR without its sticky flags: rounding, denormals, masks
  std::vector<void (*)(int)> handlers;

  static ProcessState now() {
    ProcessState state;
    const char* locale = std::setlocale(LC_ALL, nullptr);
    state.locale = locale == nullptr ? "" : locale;
    std::error_code error;
    state.folder = fs::current_path(error).string();
    state.rounding = std::fegetround();
#if defined(__x86_64__)
    state.control = _mm_getcsr() & ~0x3Fu;
#endif
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
    if (rounding != later.rounding || control != later.control) {
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
  std::vector<LinkedLibrary> links = needed_libraries(library, now);
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

json probe(const fs::path& library, bool create) {
  json findings = json::array();
  read_elf(library);
  const std::vector<LinkedLibrary> before = loaded_libraries();
  if (std::string conflict = link_conflict(bundled_libraries(library), before); !conflict.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}", conflict);
  }
  confine(library);
  const ProcessState state = ProcessState::now();
  const size_t threads = count_threads();

  enter_phase("while it was loaded");
  const quench_module* module = open_library(library);
  if (std::string displaced = displaced_library(library, loaded_libraries()); !displaced.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}", displaced);
  }
  enter_phase("while its module was read");
  std::vector<PluginDescription> items = read_module(*module);
  enter_phase("in init");
  quench_error error{sizeof(quench_error), 0, {}};
  const quench_status status = module->init(HostServices::instance().host_for(module->id), &error);
  if (status != QUENCH_OK) {
    throw_status("init", "init", status, error);
  }
  check_manners(state, threads, findings);
  for (uint32_t i = 0; i < items.size(); ++i) {
    enter_phase(fmt::format("while {} was created", plugin_label(items[i])));
    items[i].instance = default_instance(items[i], *module->items[i]);
  }
  json out = describe(items);
  if (create) {
    for (uint32_t i = 0; i < items.size(); ++i) {
      enter_phase(fmt::format("while {} was created", plugin_label(items[i])));
      if (std::string finding = try_item(items[i], *module->items[i]); !finding.empty()) {
        findings.push_back(std::move(finding));
      }
    }
  }
  if (module->shutdown != nullptr) {
    enter_phase("in shutdown");
    module->shutdown();
  }
  enter_phase("after its shutdown");
  out["links"] = links_to_json(links_of(library, before));
  out["findings"] = std::move(findings);
  return out;
}

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(descriptor, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(got));
  }
  return text;
}

std::string read_input() {
  return read_all(STDIN_FILENO);
}

// The answer that a copy of this process writes, which runs `answer`: null where there is none.
json answer_of_copy(const std::function<json()>& answer);

// Describes every library on a line of standard input, each in a copy of this process, which has
// loaded before what all of them need: that may take longer to load than all of them.
json probe_each() {
  std::vector<fs::path> libraries;
  std::istringstream lines(read_input());
  for (std::string line; std::getline(lines, line);) {
    libraries.emplace_back(line);
  }
  std::map<fs::path, size_t> needed_by;
  for (const fs::path& library : libraries) {
    for (const LinkedLibrary& link : bundled_libraries(library)) {
      ++needed_by[link.path];
    }
  }
  for (const auto& [path, count] : needed_by) {
    if (count == libraries.size()) {
      dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // a plugin says what is wrong with it
    }
  }
  json answers = json::array();
  for (const fs::path& library : libraries) {
    answers.push_back(answer_of_copy([&] { return probe(library, false); }));
  }
  return {{"libraries", answers}};
}

// Dies with the parent, leaves no core, adopts what the plugin forks off.
void prepare_process() {
  probe_process = getpid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  fcntl(kReport, F_SETFD, FD_CLOEXEC);
}

// What went wrong is an answer as well.
std::string line_of(const std::function<json()>& answer) {
  try {
    return answer().dump();
  } catch (const std::exception& failure) {
    return json{{"rejected", printable(failure.what(), 1000)}}.dump();
  } catch (...) {
    return json{{"rejected", "throws an exception when it is loaded"}}.dump();
  }
}

json answer_of_copy(const std::function<json()>& answer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return nullptr;
  }
  ChildProcess copy = ChildProcess::start_copy([&] {
    dup2(ends[1], kReport);
    prepare_process();
    write_line(line_of(answer));
    _exit(0);
    return 0;
  });
  close(ends[1]);
  const std::string said = read_all(ends[0]);
  close(ends[0]);
  if (copy.wait().code() != 0 || said.empty()) {
    return nullptr;
  }
  const size_t last = said.find_last_of('\n', said.size() - 2);
  const json read =
      json::parse(said.substr(last == std::string::npos ? 0 : last + 1), nullptr, false);
  return read.is_discarded() ? json() : read;
}

}  // namespace

int probe_main(std::vector<std::string> arguments) {
  is_confined = !arguments.empty() && arguments[0] == "--confined";
  arguments.erase(arguments.begin(), arguments.begin() + (is_confined ? 1 : 0));
  const bool each = arguments.size() == 1 && arguments[0] == "--each";
  const bool create = arguments.size() == 2 && arguments[0] == "--create";
  if ((arguments.size() != 1 && !create) || fcntl(kReport, F_GETFD) < 0) {
    std::fputs(
        "quench __probe [--confined] [--create] LIBRARY and quench __probe --each are run by "
        "quench "
        "itself, with descriptor 3 open\n",
        stderr);
    return 2;
  }
  prepare_process();
  write_line(line_of([&] { return each ? probe_each() : probe(arguments.back(), create); }));
  _exit(0);  // without the destructors of the library, which nobody needs any more
}

}  // namespace quench
