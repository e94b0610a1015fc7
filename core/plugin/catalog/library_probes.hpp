// What libraries hold: from the cache where their content and links are what they were, else from
// the list of what came with the program, else asked of workers.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/catalog/probe_cache.hpp"

namespace quench {

struct KnownLibraries {
  std::vector<ProbeEntry> usable;  // in the order of the libraries
  size_t asked = 0;                // how many were asked
};

// Keeps what is learnt in the cache. Why a library is of no use goes to `rejected`. Throws like
// probe_libraries.
KnownLibraries know_libraries(const std::vector<std::filesystem::path>& libraries,
                              const CatalogOptions& options,
                              std::vector<Catalog::Rejected>& rejected);

// Asks a library that did not answer in time once more: why it is rejected, or "". Where it
// answers, what was probed is forgotten, and the next catalog has it. Throws like probe_libraries.
std::string ask_again(const CatalogOptions& options, const std::filesystem::path& library);

}  // namespace quench
