// What a point of a sweep sets, value by value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace quench {

// Path in the manifest ("train.lr.peak") and value.
using SweepValue = std::pair<std::string, nlohmann::json>;

// The values of a point as a record holds it ({"train.lr": {"peak": 0.003}}), in the order of its
// names. Lists are one value. Nothing for null.
std::vector<SweepValue> sweep_values(const nlohmann::json& point);

// Each path by its last word, or by as many words as tell it from the others: "peak", "lr.peak".
std::vector<std::string> short_paths(const std::vector<std::string>& paths);

}  // namespace quench
