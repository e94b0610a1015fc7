// Child processes have one owner: core/base/process. A number of a process that anybody else keeps
// may be −1, or belong to a stranger by now, and kill(2) takes both.
#include <catch2/catch.hpp>
#include <regex>
#include <sstream>

#include "tests/layering/source_tree.hpp"

namespace {

// The functions that start, signal and take processes.
const std::regex& calls() {
  static const std::regex kCalls(
      R"re((^|[^\w.>:])(::|std::)?)re"
      R"re((fork|vfork|forkpty|posix_spawnp?|clone3?|kill|killpg|tgkill|waitpid|waitid|wait3|wait4)\()re");
  return kCalls;
}

bool starts_with_any(const std::string& file, const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    if (file.starts_with(prefix)) {
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("layering: nobody but core/base/process starts, signals or waits for processes",
          "[layering]") {
  const std::vector<std::string> allowed = {
      "core/base/process/",                          // the owner
      "tests/core/plugin/faults/constructor_forks",  // a plugin that misbehaves
      "tests/core/boundary/worker_test",             // ends a worker as a stranger would
      "tests/layering/processes_test",               // the lines that are to be found, below
  };
  size_t checked = 0;
  std::string objections;
  for (const char* folder :
       {"core", "train", "run", "cli", "sdk", "plugins", "tests", "bench", "tools"}) {
    for (const std::string& file :
         quench::test::files_below(folder, {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"})) {
      if (starts_with_any(file, allowed)) {
        continue;
      }
      ++checked;
      std::istringstream lines(quench::test::source(file));
      std::string line;
      for (int number = 1; std::getline(lines, line); ++number) {
        const std::string code = line.substr(0, line.find("//"));
        if (std::regex_search(code, calls())) {
          objections += file + ":" + std::to_string(number) + ": " + line + "\n";
        }
      }
    }
  }
  CHECK(checked > 500);
  CHECK(objections == "");
}

TEST_CASE("layering: calls that start, signal and take processes are found", "[layering]") {
  for (const char* line :
       {"kill(pid, 9);", "  ::kill(-1, SIGKILL);", "if (fork() == 0) {",
        "const pid_t p = forkpty(&t, nullptr, nullptr, nullptr);", "x=waitpid(p, &s, 0);",
        "!waitid(P_PID, p, &i, WEXITED)", "posix_spawn(&p, a, b, c, d, e)", "killpg(g, SIGTERM)"}) {
    CAPTURE(line);
    CHECK(std::regex_search(line, calls()));
  }
  for (const char* line :
       {"skill(3)", "values.clone()", "tensor->clone()", "child.wait()", "scene.kill()"}) {
    CAPTURE(line);
    CHECK_FALSE(std::regex_search(line, calls()));
  }
}
