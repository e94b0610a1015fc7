// A program as a child process: arguments, an environment of its own, a folder to work in. What
// outlives a call is a quench::ChildProcess.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/process/child_process.hpp"

namespace quench::test {

struct Ended {
  int code = -1;  // the exit code, or 128 + the signal's number
  std::string out;
  std::string err;
};

using Environment = std::map<std::string, std::string>;

// "NAME=value" of `environment` on top of PATH, HOME (`home`) and the sanitizers' options and
// QUENCH_ISA; nothing else of the test's own.
std::vector<std::string> variables_of(const Environment& environment,
                                      const std::filesystem::path& home);

// `command`: the program's path and its arguments. Sees variables_of(environment, folder) and
// `input`. Throws std::system_error when it cannot be started.
Ended run_program(const std::vector<std::string>& command, const Environment& environment,
                  const std::filesystem::path& folder, const std::string& input = "");

// The same without waiting; its output goes nowhere.
ChildProcess start_silently(const std::vector<std::string>& command, const Environment& environment,
                            const std::filesystem::path& folder);

// A shell's line as a user types it, in the test's own environment; out and err come together in
// `out`.
Ended run_shell(const std::string& line);

// Can `program` be found on PATH?
bool has_program(const std::string& program);

}  // namespace quench::test
