// Lists the points of a sweep, or the jobs of a study's file, with their numbers.
#pragma once

#include <cstdint>

#include "cli/manifest_options.hpp"

namespace quench {

// `only`: the study's job that --job names, or -1.
void print_jobs(const LoadedRun& run, int64_t only);
void answer_jobs(const LoadedRun& run, int64_t only);

}  // namespace quench
