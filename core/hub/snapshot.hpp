// Does a cached snapshot stay inside the cache?
#pragma once

#include <filesystem>

namespace quench {

// Every file of the snapshot must be, after all its symbolic links, a regular file under the cache
// root (the newest layout is a chain of two links). Throws Error(INVALID_ARGUMENT) for one that is
// not, Error(DATA_LOSS) for a link to nothing.
void check_snapshot(const std::filesystem::path& folder, const std::filesystem::path& cache_root);

}  // namespace quench
