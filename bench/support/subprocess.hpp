// Runs a command and measures it from outside.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/timing.hpp"

extern char** environ;

namespace quench::bench {

struct Run {
  double wall;       // seconds
  double processor;  // seconds, user and system
  long peak_kib;     // largest resident set
};

// Throws std::runtime_error unless it exits with 0. Its standard output goes to /dev/null.
inline Run run_command(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const double start = wall_clock();
  const int failed =
      posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  rusage usage{};
  if (failed == 0) {
    wait4(child, &status, 0, &usage);
  }
  const double wall = wall_clock() - start;
  if (failed != 0 || status != 0) {
    throw std::runtime_error(command[0] + ": failed");
  }
  return {wall, seconds_of(usage), usage.ru_maxrss};
}

}  // namespace quench::bench
