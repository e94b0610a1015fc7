// Where the records of a split lie on disk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/tasks/definition.hpp"

namespace quench::tasks {

// A file or folder and the corpus plugin that reads it; empty for a JSON file that holds all
// records, which the metric reads itself.
struct SplitFile {
  std::string path;
  std::string corpus;
};

struct Split {
  std::string name;
  std::vector<SplitFile> files;  // in order
};

// The first of `names` whose records are there: below `data`, or, where that is empty, in the hub's
// cache. NOT_FOUND lists where it was looked for.
Split find_split(const Definition& task, const std::vector<std::string>& names,
                 const std::string& data, const kit::RecordHost& host);

// The records of a JSON file: the elements of its list, or the members of its object, in the
// file's order. DATA_LOSS where it is neither.
std::vector<std::string> json_records(const std::string& path);

}  // namespace quench::tasks
