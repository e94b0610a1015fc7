// Plugins as the catalog loads them: tables, and instances that take parameters.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/plugin_object.hpp"
#include "quench/abi/kind/quantizer.h"

namespace quench {

// The table of a loaded item, in the type of its kind's header.
template <typename Table>
const Table* load_table(Catalog& catalog, const PluginDescription& description) {
  return static_cast<const Table*>(catalog.load(description).table);
}

// Whether it runs in a process of its own, where rows and weights are in host memory, wherever they
// are here. Call after load_table.
inline bool is_in_worker(const Catalog& catalog, const PluginDescription& description) {
  return catalog.placed(description).placement == Placement::kOwn;
}

// What such a plugin is told of a group.
inline quench_group_args for_other_process(quench_group_args args) {
  args.device = {QUENCH_DEVICE_CPU, 0};
  return args;
}

// An instance of a plugin: what Create(parameters) of its table makes.
template <auto Create, auto Close>
PluginObject<Close> make_instance(Catalog& catalog, const PluginDescription& description,
                                  const nlohmann::json& parameters) {
  const std::string text = parameters.dump();
  return PluginObject<Close>::template make_with<Create>(
      plugin_label(description), text,
      load_table<typename PluginObject<Close>::Table>(catalog, description), text.c_str(),
      uint64_t{text.size()});
}

// Whether the process in which an instance was made still runs. In the host's own process it does.
class Liveness {
 public:
  // Of an instance that is made now. Both must outlive the object.
  Liveness(const Catalog& catalog, const PluginDescription& description)
      : catalog_(&catalog), description_(&description), started_(catalog.starts(description)) {}

  explicit operator bool() const { return catalog_->starts(*description_) == started_; }

 private:
  const Catalog* catalog_;
  const PluginDescription* description_;
  uint64_t started_;
};

}  // namespace quench
