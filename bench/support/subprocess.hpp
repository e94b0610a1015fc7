// Runs a command and measures it from outside.
#pragma once

#include <fcntl.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/timing.hpp"
#include "core/base/process/child_process.hpp"

namespace quench::bench {

struct Run {
  double wall;       // seconds
  double processor;  // seconds, user and system
  long peak_kib;     // largest resident set
};

// Throws std::runtime_error unless it can be started and exits with 0. Its standard output goes to
// /dev/null.
inline Run run_command(const std::vector<std::string>& words) {
  Command command;
  command.words = words;
  command.streams = {ChildStream::file(1, "/dev/null", O_WRONLY)};
  const double start = wall_clock();
  const ProcessEnd end = ChildProcess::start(command).wait();
  const double wall = wall_clock() - start;
  if (end.code() != 0) {
    throw std::runtime_error(words[0] + ": failed");
  }
  return {wall, seconds_of(end.usage), end.usage.ru_maxrss};
}

}  // namespace quench::bench
