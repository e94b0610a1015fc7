// Finds the requested tasks among those that exist.
#pragma once

#include <string>
#include <vector>

#include "metrics/tasks/definition.hpp"

namespace quench::tasks {

// The text of a built-in task file.
struct BuiltinFile {
  const char* name;
  const char* text;
};
const std::vector<BuiltinFile>& builtin_files();

// The tasks called `names`, in that order; the members of a group in the group's order. `files` is
// a YAML file, a folder of such files, or empty; its definitions override the built-in ones. Throws
// NOT_FOUND that lists the existing names.
std::vector<Definition> chosen_tasks(const std::vector<std::string>& names,
                                     const std::string& files, const kit::RecordHost& host);

}  // namespace quench::tasks
