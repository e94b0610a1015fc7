// Writes a first manifest for a user's checkpoints.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"

namespace quench {

struct StarterChoices {
  std::string name;
  std::string model;                    // as it is written into the manifest
  std::vector<std::string> revisions;   // that were found
  std::vector<std::string> quantizers;  // ids of those that are not commented out
  std::string text;                     // a file for both corpora, as it is written; may be empty
  int64_t context = 0;                  // positions that the model has; 0: not known
};

// A commented manifest. It is valid with the catalog's plugins, except for two corpora whose paths
// the user fills in if there is no text. No default in it is beyond the model's context. Loads
// metrics to ask what they need. Throws Error(NOT_FOUND) for a quantizer that is not there.
std::string starter_manifest(const StarterChoices& choices, Catalog& catalog);

}  // namespace quench
