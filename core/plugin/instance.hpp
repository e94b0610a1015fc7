// Creates an instance of a plugin that takes parameters.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/plugin/catalog.hpp"
#include "core/plugin/table_call.hpp"

namespace quench {

// The table of a loaded item, in the type of its kind's header.
template <typename Table>
const Table* load_table(Catalog& catalog, const PluginDescription& description) {
  return static_cast<const Table*>(catalog.load(description).table);
}

// create(parameters) -> instance, never nullptr.
template <typename Instance>
Instance* create_instance(const std::string& label, const char* name,
                          quench_status (*create)(const char*, uint64_t, Instance**,
                                                  quench_error*) noexcept,
                          const nlohmann::json& parameters) {
  const std::string text = parameters.dump();
  Instance* instance = nullptr;
  work_call(label, name, {}, create, text.c_str(), uint64_t{text.size()}, &instance);
  if (instance == nullptr) {
    fail(QUENCH_INTERNAL, "{}: {} succeeded without an instance", label, name);
  }
  return instance;
}

}  // namespace quench
