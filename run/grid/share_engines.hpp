// Which share of a run a task is, as the engine that started it says: `--share auto`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "run/grid/shares.hpp"

namespace quench {

struct EngineShare {
  Share share;
  std::string engine;  // "Slurm array"
};

// Whether the value of --share asks for this: "auto", or "auto/8" where the engine numbers its
// tasks but does not count them.
bool is_auto_share(const std::string& text);

// The environment variables that engine_share() reads.
std::vector<std::string> engine_variables();

// `environment`: those of them that are set. Throws Error(INVALID_ARGUMENT) unless all engines that
// split the work give the same share: a wrong count would leave cells out in silence.
EngineShare engine_share(const std::string& text,
                         const std::map<std::string, std::string>& environment);

}  // namespace quench
