// A built plugin as the host meets it: a shared object, loaded and asked for its item. No part of
// the host is involved, so a test of a plugin fails for the plugin's reasons only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "quench/abi/module.h"

namespace quench::test {

// Loads `library` (once per process; it stays loaded), runs its init with a host whose services are
// those of test_host() but for tasks, and returns its only item of that kind. Throws
// std::runtime_error when any of this fails.
const quench_item& plugin_item(const std::filesystem::path& library, const std::string& kind);

// The table of an item, as `quench_<kind>_table`.
template <typename Table>
const Table& table_of(const quench_item& item) {
  return *static_cast<const Table*>(item.table);
}

// Parameters as an instance gets them: every parameter of the schema, `given` over the defaults.
// Throws when a required one is missing or `given` has one that the schema has not.
std::string complete_parameters(const quench_item& item, const nlohmann::json& given);

// Threads that the tasks service of plugin_item's host uses from now on.
void set_task_threads(uint32_t threads);

}  // namespace quench::test
