#include "tests/support/subprocess.hpp"

#include <fcntl.h>

#include <cstdlib>

#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

constexpr int kToWrite = O_WRONLY | O_CREAT | O_TRUNC;

}  // namespace

std::vector<std::string> variables_of(const Environment& environment,
                                      const std::filesystem::path& home) {
  Environment all = {{"PATH", "/usr/bin:/bin"}, {"HOME", home.string()}};
  for (const char* name :
       {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "QUENCH_ISA", "QUENCH_MUTANT"}) {
    if (const char* value = std::getenv(name)) {
      all[name] = value;
    }
  }
  for (const auto& [name, value] : environment) {
    all[name] = value;
  }
  std::vector<std::string> out;
  for (const auto& [name, value] : all) {
    out.push_back(name + "=" + value);
  }
  return out;
}

Ended run_program(const std::vector<std::string>& command, const Environment& environment,
                  const std::filesystem::path& folder, const std::string& input) {
  // Files instead of pipes: nobody has to read while the child writes.
  const TemporaryDir streams;
  Command child;
  child.words = command;
  child.environment = variables_of(environment, folder);
  child.folder = folder;
  child.streams = {ChildStream::file(0, streams.write("in", input), O_RDONLY),
                   ChildStream::file(1, streams / "out", kToWrite),
                   ChildStream::file(2, streams / "err", kToWrite)};
  const int code = ChildProcess::start(child).wait().code();
  return {code, read_file(streams / "out"), read_file(streams / "err")};
}

ChildProcess start_silently(const std::vector<std::string>& command, const Environment& environment,
                            const std::filesystem::path& folder) {
  Command child;
  child.words = command;
  child.environment = variables_of(environment, folder);
  child.folder = folder;
  child.streams = {ChildStream::file(0, "/dev/null", O_RDONLY),
                   ChildStream::file(1, "/dev/null", O_WRONLY), ChildStream::copy(2, 1)};
  return ChildProcess::start(child);
}

Ended run_shell(const std::string& line) {
  const TemporaryDir streams;
  Command shell;
  shell.words = {"/bin/sh", "-c", line};
  shell.streams = {ChildStream::file(0, "/dev/null", O_RDONLY),
                   ChildStream::file(1, streams / "out", kToWrite), ChildStream::copy(2, 1)};
  const int code = ChildProcess::start(shell).wait().code();
  return {code, read_file(streams / "out"), ""};
}

bool has_program(const std::string& program) {
  return run_shell("command -v " + program).code == 0;
}

}  // namespace quench::test
