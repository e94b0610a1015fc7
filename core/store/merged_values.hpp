// Which values of a cell count when runs are joined.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/store/run_scan.hpp"

namespace quench {

// One evaluation that counts in one run.
struct MergedEvaluation {
  std::string file;                       // its name
  std::vector<const RecordLine*> values;  // at least one
};

// By cell; they point into the scan. Failures give way to any value, so they do not matter here.
std::map<std::string, MergedEvaluation> evaluations_of(const RunScan& scan);

// One of the runs that are joined.
struct MergedRun {
  std::filesystem::path folder;
  RunScan scan;
  std::map<std::string, MergedEvaluation> evaluations;
};

// The values that give way to those of the preferred run.
struct HiddenValues {
  std::map<std::string, std::set<std::string>> files;  // by key
  std::vector<std::string> names;                      // of their cells, for people
};

// Throws Error(INVALID_ARGUMENT) listing the cells of which two runs have different values, unless
// one of the two is `prefer`.
HiddenValues compare_values(const std::vector<MergedRun>& runs,
                            const std::optional<std::filesystem::path>& prefer);

}  // namespace quench
