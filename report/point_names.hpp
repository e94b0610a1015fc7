// How a figure calls the points of a sweep.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace quench {

// For each point (sweep_point() of its records) what tells it from the others: "peak 0.001",
// "decay_steps 200, muon". Values that all points have are left out; where points choose another
// plugin each, its name stands for what it is given. "job 3" of a record without a sweep.
std::map<nlohmann::json, std::string> point_names(const std::set<nlohmann::json>& points);

}  // namespace quench
