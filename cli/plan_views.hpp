// What `quench plan` shows in place of the cells: shares, the points of a sweep, costs by shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/manifest_options.hpp"
#include "run/grid/estimate.hpp"
#include "run/grid/shape_costs.hpp"
#include "run/grid/shares.hpp"

namespace quench {

// What `quench plan` prints of a manifest, for `run --dry-run`; returns the exit code.
int plan_run(const ManifestOptions& manifest, Context& context);

// What the sweep sets at a point, short: "peak=0.003, ".
std::string point_name(const Experiment& experiment);

// --shares: how the run splits. `cells` and `cost`: of the whole run, for the time that this
// machine would need.
void show_shares(const LoadedRun& run, const Shares& shares, const std::vector<Cell>& cells,
                 const PlanCost& cost);

// --jobs: the points of a sweep, or the jobs of a study's file, with their numbers. `only`: the
// study's job that --job names, or -1.
void show_jobs(const LoadedRun& run, int64_t only);

// --shapes: what a manifest on published models costs, in the three lines that stand at the head of
// a manifest in configs/experiments.
void show_shape_costs(const ShapeCosts& costs);

}  // namespace quench
