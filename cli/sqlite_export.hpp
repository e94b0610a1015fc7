// Exports records as a table of an SQLite file.
#pragma once

#include <filesystem>
#include <vector>

#include "core/store/run_scan.hpp"

namespace quench {

// Replaces `path` by a new database: the table `records` with the typed columns of
// columns_of(), and `items` and `details` as JSON. The old file stays until the new one is
// complete. Throws Error naming the path.
void export_sqlite(const std::filesystem::path& path, const RunScan& scan,
                   const std::vector<size_t>& lines);

}  // namespace quench
