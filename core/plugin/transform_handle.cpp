#include "core/plugin/transform_handle.hpp"

#include "core/plugin/instance.hpp"

namespace quench {

TransformHandle::TransformHandle(Catalog& catalog, const PluginDescription& description,
                                 const nlohmann::json& parameters)
    : id_(description.id),
      label_(plugin_label(description)),
      table_(load_table<quench_transform_table>(catalog, description)),
      apart_(is_apart(catalog, description)),
      transform_(create_instance(label_, "create", table_->create, parameters)) {}

TransformHandle::~TransformHandle() {
  const PluginCall call(label_.c_str(), "destroy");
  table_->destroy(transform_);
}

uint32_t TransformHandle::needs() const {
  return guarded_call(label_, "needs", {}, table_->needs, transform_);
}

void TransformHandle::observe(const quench_group_args& group, const quench_observe_args& rows) {
  const quench_group_args args = apart_ ? for_other_process(group) : group;
  work_call(label_, "observe", {}, table_->observe, transform_, &args, &rows);
}

void TransformHandle::apply(const quench_model_editor& editor) {
  work_call(label_, "apply", {}, table_->apply, transform_, &editor);
}

}  // namespace quench
