// What of the system itself a confined process sees.
#pragma once

#include <string>
#include <vector>

#include "core/plugin/sandbox/sandbox.hpp"

namespace quench {

struct SystemPath {
  enum class Use { kRead, kWrite, kDevice };  // kDevice: read, written, and asked by ioctl(2)
  std::string path;
  Use use;
};

// Those of `profile`, without patterns; many systems lack some of them.
std::vector<SystemPath> system_paths(SandboxProfile profile);

// What the kernel starts in place of a program that wants shared libraries.
std::vector<std::string> program_loaders();

}  // namespace quench
