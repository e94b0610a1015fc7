// Decides which of the verified records of a run count.
#pragma once

#include <filesystem>

#include "core/store/run_scan.hpp"

namespace quench {

// Fills counted, superseded and conflicts from the lines and from the tombstones of `folder`, and
// adds incomplete evaluations to damaged.
void decide_what_counts(const std::filesystem::path& folder, RunScan& scan);

// Identifies a cell across recomputations after a dependency has changed: the point of the sweep,
// the checkpoint's name, the labels, draw and jitter. "" for records without labels, which all
// count.
std::string cell_identity(const RecordLine& line);

// Whether two records of one cell say the same, in all fields that are compared.
bool equal_records(const RecordLine& a, const RecordLine& b);

}  // namespace quench
