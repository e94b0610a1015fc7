#include "tests/core/cli/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace {

// `redirection`: "" or what a shell would write: ">&-", "2>&-", ">/dev/full".
void redirect(const std::string& redirection) {
  if (redirection == ">&-") {
    ::close(STDOUT_FILENO);
  } else if (redirection == "2>&-") {
    ::close(STDERR_FILENO);
  } else if (redirection == ">/dev/full") {
    ::dup2(::open("/dev/full", O_WRONLY), STDOUT_FILENO);
  }
}

}  // namespace

std::string program_path() {
  return (binary_dir() / "bin/quench").string();
}

std::vector<std::string> program_environment() {
  // One cache of probes for all tests, or each would load every plugin.
  const char* path = std::getenv("PATH");
  return {"PATH=" + std::string(path != nullptr ? path : "/usr/bin:/bin"),
          "HOME=" + (binary_dir() / "tests/home").string(),
          "QUENCH_HOME=" + (binary_dir() / "tests/quench-home").string(),
          "QUENCH_PLUGIN_PATH=" + (binary_dir() / "template").string(),
          "QUENCH_PLUGIN_SYSTEM_PATH="};
}

bool has_plugin(const std::string& kind_and_id) {
  const bool there = std::filesystem::exists(binary_dir() / "lib/quench" / (kind_and_id + ".so"));
  if (!there) {
    std::fprintf(stderr, "SKIPPED: %s is not built\n", kind_and_id.c_str());
  }
  return there;
}

Workplace::Workplace() {
  const std::string command = std::string("perl ") + QUENCH_TINY_CHECKPOINT + " '" +
                              (folder_ / "tiny").string() + "' template_model";
  if (std::system(command.c_str()) != 0) {
    throw std::runtime_error("no checkpoint: " + command);
  }
  std::string text;
  for (int i = 0; text.size() < 1000; ++i) {
    text += "line " + std::to_string(i * 7919 % 1000) + "\n";
  }
  folder_.write("t.txt", text.substr(0, 1000));
  std::filesystem::create_directory(folder_ / "home");
  const std::filesystem::path probes = binary_dir() / "tests/quench-home/plugins.json";
  if (std::filesystem::exists(probes)) {  // else this workplace probes for itself
    std::filesystem::copy(probes, folder_ / "home/plugins.json");
  }
}

pid_t Workplace::start(const Arguments& arguments, const std::string& redirection) const {
  std::vector<std::string> words = {program_path()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = program_environment();
  std::erase_if(variables, [](const std::string& v) { return v.starts_with("QUENCH_HOME="); });
  variables.push_back("QUENCH_HOME=" + (folder_ / "home").string());
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  for (std::string& variable : variables) {
    envp.push_back(variable.data());
  }
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  const std::string out = folder_ / "out";
  const std::string err = folder_ / "err";
  const pid_t process = fork();
  if (process == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
      std::signal(number, SIG_DFL);
    }
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(::open(out.c_str(), kFlags, 0644), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), kFlags, 0644), STDERR_FILENO);
    redirect(redirection);
    if (::chdir(folder_.path().c_str()) == 0) {
      ::execve(argv[0], argv.data(), envp.data());
    }
    ::_exit(127);
  }
  return process;
}

Outcome Workplace::wait(pid_t process) const {
  int status = 0;
  ::waitpid(process, &status, 0);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, read_file(folder_ / "out"), read_file(folder_ / "err")};
}

Outcome Workplace::run(const Arguments& arguments, const std::string& redirection) const {
  return wait(start(arguments, redirection));
}

bool Workplace::wait_for_work() const {
  for (int i = 0; i < 1200; ++i) {
    if (!read_file(folder_ / "err").empty()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

void Workplace::write_long_text() const {
  const std::string line = "the quick brown fox jumps over the lazy dog and on\n";
  std::string text;
  while (text.size() < (8u << 20)) {
    text += line;
  }
  folder_.write("long.txt", text);
}

}  // namespace quench::test
