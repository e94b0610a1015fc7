// Programs under injected faults: tests/faults/faults.c says what can be injected.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/subprocess.hpp"

namespace quench::test {

struct FaultPlan {
  long at = 0;            // the call that is hit, from 1; 0: none
  std::string fault;      // "ENOSPC", "KILL", ...
  bool from = false;      // every call from there on
  std::string calls;      // count these alone: "fsync,close"
  std::string under;      // count below this folder alone
  std::string drop;       // these calls do nothing
  bool children = false;  // count over all processes together
};

struct WriteCall {
  std::string name;  // "open", "write", "fsync", ...
  std::string path;
  std::string from;  // of rename and link
};

struct FaultedRun {
  Ended ended;
  std::vector<WriteCall> calls;  // all that were counted, in order
};

FaultedRun run_under_faults(const std::vector<std::string>& command, const FaultPlan& plan,
                            std::map<std::string, std::string> environment,
                            const std::filesystem::path& folder);

}  // namespace quench::test
