// The entries `lr`, `phases` and `match` of a branch.
#pragma once

#include <string>
#include <vector>

#include "run/manifest/manifest_checkpoints.hpp"

namespace quench {

// A number, {points: FILE}, or {schedule: ..., peak: ..., ...}. What is wrong is added to
// `problems`, beginning with `where`.
ManifestLearningRate read_learning_rate(const YamlNode& node, const std::string& where,
                                        Problems& problems);

// The schedule of a training of `steps` steps: as above, but without `steps`.
LearningRateSchedule read_training_schedule(const YamlNode& node, const std::string& where,
                                            int64_t steps, Problems& problems);

// `decay` of a schedule: true for 1-sqrt.
bool read_decay(MappingReader& reader, const std::string& where, Problems& problems);

// A mapping of names to [first, last], each a count or null for an open end; a count alone is a
// range of one. `apart`: no two may overlap by more than an end.
std::vector<ManifestRange> read_ranges(const YamlNode& node, const std::string& where, bool apart,
                                       Problems& problems);

}  // namespace quench
