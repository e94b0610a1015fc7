// The entries `lr`, `phases` and `match` of a branch.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "run/manifest/manifest_checkpoints.hpp"

namespace quench {

// A number, {points: FILE}, or {schedule: ..., peak: ..., ...}. Adds errors that begin with `where`
// to `problems`.
ManifestLearningRate read_learning_rate(const YamlNode& node, const std::string& where,
                                        Problems& problems);

// The schedule of a training of `steps` steps: the same form without `steps`.
LearningRateSchedule read_training_schedule(const YamlNode& node, const std::string& where,
                                            int64_t steps, Problems& problems);

// `decay` of a schedule: true for 1-sqrt.
const std::vector<std::pair<std::string, bool>>& decay_shapes();

nlohmann::json learning_rate_schema();
nlohmann::json training_rate_schema();

// A mapping of names to [first, last], each a count or null for an open end; a single count is a
// range of one. `apart`: ranges may share no more than an end.
std::vector<ManifestRange> read_ranges(const YamlNode& node, const std::string& where, bool apart,
                                       Problems& problems);

}  // namespace quench
