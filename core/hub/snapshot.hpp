// Checks that a cached snapshot stays inside the cache.
#pragma once

#include <filesystem>

namespace quench {

// Every file of the snapshot, with all symbolic links resolved, must be a regular file under the
// cache root (the newest layout chains two links). Throws Error(INVALID_ARGUMENT) for a file that
// is not, Error(DATA_LOSS) for a broken link.
void check_snapshot(const std::filesystem::path& folder, const std::filesystem::path& cache_root);

}  // namespace quench
