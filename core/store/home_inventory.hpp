// Lists what QUENCH_HOME holds that can be made again: records, hashes, tokenized text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace quench {

struct HomeEntry {
  int64_t modified = 0;  // seconds
  uint64_t bytes = 0;
  std::filesystem::path path;  // a file, or a folder of packed tokens
};

struct HomeInventory {
  std::vector<HomeEntry> kept;      // may be removed, oldest first
  std::vector<HomeEntry> leftover;  // left by ended processes, and hidden records
};

// Goes by name: leaves out files that quench does not name so, and tombstones, which hide a
// generation for good. Throws Error(FAILED_PRECONDITION) if a folder cannot be listed.
HomeInventory home_inventory(const std::filesystem::path& home, int64_t now);

// Removes an entry; renames a folder first, so that half of it is never found. An entry that is
// already gone counts as removed. Throws Error(FAILED_PRECONDITION).
void remove_home_entry(const HomeEntry& entry);

}  // namespace quench
