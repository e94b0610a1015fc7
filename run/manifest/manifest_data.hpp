// The sections `calibration` and `corpora`: named data, as they are read and as editors are told.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

// `node` may be nullptr or null. Adds errors to `problems`.
std::vector<ManifestCalibration> read_calibrations(const YamlNode* node, Problems& problems);
std::vector<ManifestCorpus> read_corpora(const YamlNode* node, Problems& problems);

nlohmann::json calibration_schema();
nlohmann::json corpora_schema(const Catalog& catalog);

}  // namespace quench
