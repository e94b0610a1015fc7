// Is a cached snapshot what it says it is?
#pragma once

#include <filesystem>

namespace quench {

// Every file of the snapshot must be, after all its symbolic links, a regular file under the cache
// root (the newest layout is a chain of two links). Throws Error(INVALID_ARGUMENT) for one that is
// not, Error(DATA_LOSS) for a link to nothing.
void check_snapshot(const std::filesystem::path& folder, const std::filesystem::path& cache_root);

// The cache names blobs by the hash of their content, and a blob that is written through its link
// keeps its name. Reads every blob of the snapshot and compares: SHA-256 for names of 64 digits,
// git's blob id for names of 40. Throws Error(DATA_LOSS) naming file and both hashes.
void verify_snapshot(const std::filesystem::path& folder);

}  // namespace quench
