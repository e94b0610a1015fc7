// The sections of a manifest and the keys beside them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "run/manifest/fields.hpp"
#include "run/manifest/manifest.hpp"

namespace quench {

const Fields<Manifest>& document_keys();
// Keys that people put at the top level, and where they belong.
const std::vector<std::pair<std::string, std::string>>& sections_of_keys();

// The sections `calibration` and `corpora` (manifest_data.cpp), as they are read and as editors are
// told. `node` may be nullptr or null. Adds errors to `problems`.
std::vector<ManifestCalibration> read_calibrations(const YamlNode* node, Problems& problems);
std::vector<ManifestCorpus> read_corpora(const YamlNode* node, Problems& problems);

nlohmann::json calibration_schema();
nlohmann::json corpora_schema(const Catalog& catalog);

}  // namespace quench
