// The child's side of probing. Lines on descriptor 3: "@phase" before each step that runs the
// plugin's code, then one JSON object, the last line.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>

#include "core/error.hpp"
#include "core/plugin/describe.hpp"
#include "core/plugin/links.hpp"
#include "core/plugin/probe.hpp"
#include "core/plugin/sandbox/sandbox.hpp"
#include "core/plugin/search_path.hpp"

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

}  // namespace

int probe_main(std::vector<std::string> arguments) {
  is_confined = !arguments.empty() && arguments[0] == "--confined";
  arguments.erase(arguments.begin(), arguments.begin() + (is_confined ? 1 : 0));
  const bool create = arguments.size() == 2 && arguments[0] == "--create";
  if ((arguments.size() != 1 && !create) || fcntl(kReport, F_GETFD) < 0) {
    std::fputs(
        "quench __probe [--confined] [--create] LIBRARY is run by quench itself, with descriptor 3 "
        "open\n",
        stderr);
    return 2;
  }
  prepare_process();
  write_line(line_of([&] {
    confine(arguments.back());
    return describe_library(arguments.back(), create, enter_phase);
  }));
  _exit(0);  // without the destructors of the library, which nobody needs any more
}

}  // namespace quench
