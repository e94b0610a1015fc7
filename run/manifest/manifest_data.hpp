// The sections `calibration` and `corpora`: named data.
#pragma once

#include <vector>

#include "run/manifest/manifest.hpp"

namespace quench {

// `node` may be nullptr or null. What is wrong is added to `problems`.
std::vector<ManifestCalibration> read_calibrations(const YamlNode* node, Problems& problems);
std::vector<ManifestCorpus> read_corpora(const YamlNode* node, Problems& problems);

}  // namespace quench
