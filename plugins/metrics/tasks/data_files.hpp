// Finds the records of a split on disk.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "metrics/tasks/definition.hpp"

namespace quench::tasks {

// A file or folder and the corpus plugin that reads it. The plugin is empty for a JSON file that
// holds all records; the metric reads that itself.
struct SplitFile {
  std::string path;
  std::string corpus;
};

struct Split {
  std::string name;
  std::vector<SplitFile> files;  // in order
};

// Finds the first of `names` whose records exist below `data` or, if that is empty, in the hub's
// cache. Throws NOT_FOUND that lists the places it looked in.
Split find_split(const Definition& task, const std::vector<std::string>& names,
                 const std::string& data, const kit::RecordHost& host);

// The records of a JSON file in the file's order: the elements of its list, or the members of its
// object. Throws DATA_LOSS if it is neither.
std::vector<std::string> json_records(const std::string& path);

}  // namespace quench::tasks
