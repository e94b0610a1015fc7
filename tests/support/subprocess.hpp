// A program as a child process: arguments, an environment of its own, a folder to work in.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace quench::test {

struct Ended {
  int code = -1;  // the exit code, or 128 + the signal's number
  std::string out;
  std::string err;
};

// `command`: the program's path and its arguments. The child sees PATH, HOME (its folder), the
// sanitizers' options and `environment`. Throws when it cannot be started.
Ended run_program(std::vector<std::string> command,
                  const std::map<std::string, std::string>& environment,
                  const std::filesystem::path& folder);

}  // namespace quench::test
