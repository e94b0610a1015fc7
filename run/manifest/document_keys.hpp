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

// Of the sections `calibration` and `corpora` (manifest_data.cpp): the keys of an entry; how an
// entry is read, and the whole section as editors are told of it.
const Fields<ManifestCalibration>& calibration_keys();
void read_corpus(const YamlNode::Member& member, MappingReader& outer, Manifest& manifest);
nlohmann::json corpora_schema(const Catalog& catalog);

}  // namespace quench
