// Creates an instance of a plugin that takes parameters.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/plugin/catalog.hpp"
#include "core/plugin/table_call.hpp"
#include "quench/abi/kind/quantizer.h"

namespace quench {

// The table of a loaded item, in the type of its kind's header.
template <typename Table>
const Table* load_table(Catalog& catalog, const PluginDescription& description) {
  return static_cast<const Table*>(catalog.load(description).table);
}

// Whether it runs in a process of its own, where rows and weights are in host memory, wherever they
// are here. Call after load_table.
inline bool is_apart(const Catalog& catalog, const PluginDescription& description) {
  return catalog.placed(description).placement == Placement::kOwn;
}

// What such a plugin is told of a group.
inline quench_group_args for_other_process(quench_group_args args) {
  args.device = {QUENCH_DEVICE_CPU, 0};
  return args;
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
