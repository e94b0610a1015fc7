#include "tests/support/subprocess.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) {
    out.push_back(text.data());
  }
  out.push_back(nullptr);
  return out;
}

}  // namespace

Ended run_program(std::vector<std::string> command,
                  const std::map<std::string, std::string>& environment,
                  const std::filesystem::path& folder) {
  std::map<std::string, std::string> all = {{"PATH", "/usr/bin:/bin"}, {"HOME", folder.string()}};
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) {
      all[name] = value;
    }
  }
  for (const auto& [name, value] : environment) {
    all[name] = value;
  }
  std::vector<std::string> variables;
  for (const auto& [name, value] : all) {
    variables.push_back(name + "=" + value);
  }
  // Files instead of pipes: nobody has to read while the child writes.
  const TemporaryDir streams;
  const std::string out = streams / "out";
  const std::string err = streams / "err";
  std::vector<char*> argv = pointers(command);
  std::vector<char*> envp = pointers(variables);
  const pid_t child = fork();
  if (child == 0) {
    constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(::open(out.c_str(), kFlags, 0600), STDOUT_FILENO);
    ::dup2(::open(err.c_str(), kFlags, 0600), STDERR_FILENO);
    if (::chdir(folder.c_str()) == 0) {
      ::execve(argv[0], argv.data(), envp.data());
    }
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) {
    throw std::runtime_error(command[0] + " could not be run");
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out),
          read_file(err)};
}

}  // namespace quench::test
