// Checks that a cached snapshot stays inside the cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quench {

// Every file of the snapshot, with all symbolic links resolved, must be a regular file under the
// cache root (the newest layout chains two links). Throws Error(INVALID_ARGUMENT) for a file that
// is not, Error(DATA_LOSS) for a broken link.
void check_snapshot(const std::filesystem::path& folder, const std::filesystem::path& cache_root);

// All entries below a folder, sorted, except real subfolders; a link to a folder is an entry.
// Throws Error: INVALID_ARGUMENT for more than 100,000, FAILED_PRECONDITION if it cannot be listed.
std::vector<std::filesystem::path> entries_below(const std::filesystem::path& folder);

// Whether a file of this name holds weights, by its ending.
bool holds_weights(const std::filesystem::path& file);
// Whether a snapshot has files of weights, none of which is missing. A run with
// `storage: {evict: done}` removes weights and leaves the rest; other tools fetch single files.
bool has_weights(const std::filesystem::path& folder);
// What a folder lacks of its weights, as a sentence: a shard whose index and neighbours are there,
// the target of a link. "" if nothing is known to be missing.
std::string missing_weights(const std::filesystem::path& folder);

}  // namespace quench
