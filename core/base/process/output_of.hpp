// Runs a program to its end and takes what it prints.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace quench {

struct ProgramOutput {
  int code = 0;            // as a shell reports it
  bool timed_out = false;  // killed at the limit; `code` is 137 then
  std::string out;
  std::string err;
};

// Its standard input is empty. Keeps the first MiB of each stream. Throws std::system_error if it
// cannot be started: no_such_file_or_directory if PATH does not have it.
ProgramOutput output_of(const std::vector<std::string>& words, std::chrono::seconds limit);

}  // namespace quench
