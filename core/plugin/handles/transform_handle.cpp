#include "core/plugin/handles/transform_handle.hpp"

#include "core/plugin/handles/instance.hpp"

namespace quench {

TransformHandle::TransformHandle(Catalog& catalog, const PluginDescription& description,
                                 const nlohmann::json& parameters)
    : id_(description.id),
      transform_(make_instance<&quench_transform_table::create, &quench_transform_table::destroy>(
          catalog, description, parameters)),
      in_worker_(is_in_worker(catalog, description)) {}

uint32_t TransformHandle::needs() const {
  return transform_.call<&quench_transform_table::needs>();
}

void TransformHandle::observe(const quench_group_args& group, const quench_observe_args& rows) {
  const quench_group_args args = in_worker_ ? for_other_process(group) : group;
  transform_.call<&quench_transform_table::observe>(&args, &rows);
}

void TransformHandle::apply(const quench_model_editor& editor) {
  transform_.call<&quench_transform_table::apply>(&editor);
}

}  // namespace quench
