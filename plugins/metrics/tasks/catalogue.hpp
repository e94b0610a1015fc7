// Which tasks there are, and which of them are asked for.
#pragma once

#include <string>
#include <vector>

#include "metrics/tasks/definition.hpp"

namespace quench::tasks {

// The text of a task file that is built in.
struct BuiltinFile {
  const char* name;
  const char* text;
};
const std::vector<BuiltinFile>& builtin_files();

// The tasks that `names` name, in their order, a group's members in its own; `files` is a YAML file
// or a folder of such, or empty, and what it defines goes before what is built in. NOT_FOUND names
// what there is.
std::vector<Definition> chosen_tasks(const std::vector<std::string>& names,
                                     const std::string& files, const kit::RecordHost& host);

}  // namespace quench::tasks
