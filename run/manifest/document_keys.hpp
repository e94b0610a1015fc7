// The sections of a manifest and the keys beside them, each described once.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "run/manifest/manifest.hpp"
#include "run/manifest/section_keys.hpp"

namespace quench {

// A manifest without a sweep while it is read.
struct Document {
  const YamlNode& root;
  Manifest& out;
};

std::span<const SectionKey<Document>> document_keys();
// Keys that people put at the top level, and where they belong.
const std::vector<std::pair<std::string, std::string>>& homes_of_keys();

}  // namespace quench
