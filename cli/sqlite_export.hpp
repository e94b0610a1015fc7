// Records as a table of an SQLite file.
#pragma once

#include <filesystem>
#include <vector>

#include "core/store/run_scan.hpp"

namespace quench {

// Writes `path` anew: the table `records` with the columns of record_columns(), typed, and `items`
// and `details` as JSON. What was there stays until the new file is complete. Throws Error naming
// the path.
void export_sqlite(const std::filesystem::path& path, const RunScan& scan,
                   const std::vector<size_t>& lines);

}  // namespace quench
