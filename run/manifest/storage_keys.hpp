// The section `storage`: what a run that fetches may keep of the hub's weights.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/base/config/problems.hpp"
#include "core/base/config/written.hpp"

namespace quench {

struct ManifestStorage {
  Place place;
  Written<uint64_t> limit;  // bytes that the run's downloads may take in the cache; 0: no limit
  bool evict = false;       // weights that no cell needs any more are removed
};

nlohmann::json storage_schema();
// `node` may be nullptr or null: nothing then.
std::optional<ManifestStorage> read_storage(const YamlNode* node, Problems& problems);

}  // namespace quench
