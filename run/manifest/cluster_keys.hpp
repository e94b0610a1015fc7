// The section `cluster`: what `quench submit` asks a cluster for. No value of a run depends on it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace quench {

template <typename Section>
class Fields;

inline constexpr uint64_t kMostTasks = 100'000;

// The keys that are given or have a default, with times in seconds and sizes in bytes: python/
// quench/cluster reads it.
const Fields<nlohmann::json>& cluster_keys();
// The defaults.
nlohmann::json usual_cluster();

// "90m", "4h", "2d", "04:00:00", "1-12:00:00" in seconds; nothing for another form, or 0.
std::optional<uint64_t> parse_duration(std::string_view text);
// "500MB", "32 GB", "1.5TiB" in bytes; nothing for another form, or 0.
std::optional<uint64_t> parse_size(std::string_view text);

}  // namespace quench
