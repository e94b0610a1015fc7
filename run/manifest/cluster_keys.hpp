// The section `cluster`: what `quench submit` asks a cluster for. No value of a run depends on it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "core/base/config/problems.hpp"
#include "core/base/config/yaml.hpp"

namespace quench {

inline constexpr uint64_t kMostTasks = 100'000;

nlohmann::json cluster_schema();
// The keys that are given or have a default, with times in seconds and sizes in bytes: python/
// quench/cluster reads it. `node`: nullptr without a section.
nlohmann::json read_cluster(const YamlNode* node, Problems& problems);

// "90m", "4h", "2d", "04:00:00", "1-12:00:00" in seconds; nothing for another form, or 0.
std::optional<uint64_t> parse_duration(std::string_view text);
// "500MB", "32 GB", "1.5TiB" in bytes; nothing for another form, or 0.
std::optional<uint64_t> parse_size(std::string_view text);

}  // namespace quench
