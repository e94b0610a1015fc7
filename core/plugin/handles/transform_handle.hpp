// An instance of a transform plugin. Every call throws quench::Error whose message starts with
// "transform <id>: ".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/plugin_object.hpp"
#include "quench/abi/kind/transform.h"

namespace quench {

class TransformHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  TransformHandle(Catalog& catalog, const PluginDescription& description,
                  const nlohmann::json& parameters);

  const std::string& id() const { return id_; }
  uint32_t needs() const;
  void observe(const quench_group_args& group, const quench_observe_args& rows);
  void apply(const quench_model_editor& editor);

 private:
  std::string id_;
  PluginObject<&quench_transform_table::destroy> transform_;
  bool in_worker_;  // runs in a process of its own
};

}  // namespace quench
