// What lies in QUENCH_HOME and can be made again: records, hashes, tokenized text.
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
  std::vector<HomeEntry> kept;      // could be removed, oldest first
  std::vector<HomeEntry> leftover;  // what ended processes left behind, and hidden records
};

// By name: what quench does not call so is not in it, and so are tombstones, which hide a
// generation for good. Throws Error(FAILED_PRECONDITION) where a folder cannot be listed.
HomeInventory home_inventory(const std::filesystem::path& home, int64_t now);

// Removes an entry; a folder under another name, so that no half of it is ever found. One that is
// gone already is removed. Throws Error(FAILED_PRECONDITION).
void remove_home_entry(const HomeEntry& entry);

}  // namespace quench
