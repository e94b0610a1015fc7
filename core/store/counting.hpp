// Which of the verified records of a run count.
#pragma once

#include <filesystem>

#include "core/store/run_scan.hpp"

namespace quench {

// Fills counted, superseded and conflicts from lines and from the tombstones of `folder`, and adds
// to damaged what is incomplete.
void decide_what_counts(const std::filesystem::path& folder, RunScan& scan);

// What stays the same when a cell is computed again because something it depends on has changed:
// the point of the sweep, the checkpoint's name, the labels, draw and jitter. "" for records
// without labels (schema 1), of which all count.
std::string cell_identity(const RecordLine& line);

}  // namespace quench
