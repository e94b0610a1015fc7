#include "metrics/tasks/catalogue.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace quench::tasks {

namespace fs = std::filesystem;

namespace {

// The twelve tasks of the study (arXiv 2510.06213); mmlu is a group.
const std::vector<std::string>& study() {
  static const std::vector<std::string> kNames = {
      "arc_challenge", "arc_easy", "openbookqa", "piqa",       "hellaswag",      "winogrande",
      "mathqa",        "pubmedqa", "sciq",       "social_iqa", "commonsense_qa", "mmlu"};
  return kNames;
}

std::vector<std::string> yaml_files(const std::string& path) {
  if (!fs::is_directory(path)) {
    return {path};
  }
  std::vector<std::string> out;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".yaml" || extension == ".yml") {
      out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

using Available = std::vector<Definition>;

Available all_tasks(const std::string& files, const kit::RecordHost& host) {
  Available out;
  std::set<std::string> names;
  const auto add = [&](std::vector<Definition> found, const std::string& where, bool own) {
    for (Definition& task : found) {
      if (names.insert(task.name).second) {
        out.push_back(std::move(task));
      } else if (own) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "%s: task %s is defined twice", where.c_str(),
                  task.name.c_str());
      }
    }
  };
  for (const std::string& file : files.empty() ? std::vector<std::string>() : yaml_files(files)) {
    add(definitions_of(host.yaml_file(file), file), file, true);
  }
  for (const BuiltinFile& file : builtin_files()) {
    add(definitions_of(host.yaml_text(file.text, file.name), file.name), file.name, false);
  }
  return out;
}

// The names that can be requested; a group appears only under its own name.
std::string names_of(const Available& available) {
  std::set<std::string> known = {"study"};
  for (const Definition& task : available) {
    known.insert(task.group.empty() ? task.name : task.group);
  }
  std::string list;
  for (const std::string& one : known) {
    list += (list.empty() ? "" : ", ") + one;
  }
  return list;
}

}  // namespace

std::vector<Definition> chosen_tasks(const std::vector<std::string>& names,
                                     const std::string& files, const kit::RecordHost& host) {
  const Available available = all_tasks(files, host);
  std::vector<std::string> wanted;
  for (const std::string& name : names) {
    if (name == "study") {
      wanted.insert(wanted.end(), study().begin(), study().end());
    } else {
      wanted.push_back(name);
    }
  }
  std::vector<Definition> out;
  std::set<std::string> taken;
  for (const std::string& name : wanted) {
    bool known = false;
    for (Definition task : available) {
      if (task.name != name && task.group != name) {
        continue;
      }
      known = true;
      if (!taken.insert(task.name).second) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "task %s is requested twice", task.name.c_str());
      }
      if (task.name == name) {
        task.group.clear();  // requested by its own name, it counts on its own
      }
      out.push_back(std::move(task));
    }
    if (!known) {
      kit::fail(QUENCH_NOT_FOUND, "no task `%s`; there are %s", name.c_str(),
                names_of(available).c_str());
    }
  }
  return out;
}

}  // namespace quench::tasks
