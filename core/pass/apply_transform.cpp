#include "core/pass/apply_transform.hpp"

#include "core/base/json/json_number.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/pass/activation_stream.hpp"
#include "core/pass/routed_rows.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

// Shows the activations of one micro-batch to the groups that a stage feeds.
void show_rows(ModelHandle& model, TransformHandle& transform, uint32_t block, uint32_t stage,
               const std::vector<quench_tensor>& carried) {
  const quench_block_info& info = model.block(block);
  StageRoutes routes(model, carried);
  for (uint32_t g = 0; g < info.group_count; ++g) {
    const quench_group_info& group = info.groups[g];
    if (group.stage != stage) {
      continue;
    }
    const quench_group_args args{
        sizeof args, 0, block, g, &group, group.linears[0].in_features, model.info().device};
    const quench_tensor& x = carried.at(static_cast<size_t>(group.input));
    quench_observe_args rows{sizeof rows, 0, &x, nullptr, nullptr, nullptr, nullptr};
    if (group.rows < 0) {
      transform.observe(args, rows);
      continue;
    }
    const std::vector<int64_t> routed = routes.at(group.rows).of(group.expert, x.shape[0]);
    const auto count = static_cast<int64_t>(routed.size());
    const int64_t stride = 1;
    const quench_tensor index{
        const_cast<int64_t*>(routed.data()), {QUENCH_DEVICE_CPU, 0}, 1, kInt64, &count, &stride, 0};
    rows.row_index = &index;
    if (count > 0) {
      transform.observe(args, rows);
    }
  }
}

void show_all_rows(ModelHandle& model, TransformHandle& transform,
                   const CalibrationRows& calibration) {
  ActivationStream stream(model, calibration.ids, calibration.starts, calibration.texts);
  for (size_t b = 0; b < stream.batches().size(); ++b) {
    stream.embed(b);
  }
  for (uint32_t block = 0; block < model.info().blocks; ++block) {
    for (uint32_t stage = 0; stage < model.block(block).stage_count; ++stage) {
      for (size_t b = 0; b < stream.batches().size(); ++b) {
        if (HostServices::instance().cancel_flag()) {
          fail(QUENCH_CANCELLED, "stopped on request");
        }
        stream.stage(b, block, stage);
        show_rows(model, transform, block, stage, stream.carried(b));
      }
    }
  }
}

}  // namespace

ModelEdits apply_transform(ModelHandle& model, TransformHandle& transform,
                           const CalibrationRows* calibration, FloatWeights& kept) {
  const std::string who = "transform " + transform.id();
  if ((transform.needs() & QUENCH_TRANSFORM_NEEDS_ROWS) != 0) {
    if (calibration == nullptr) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: needs calibration data and got none", who);
    }
    show_all_rows(model, transform, *calibration);
  }
  return edit_model(
      model, who, [&](const quench_model_editor& editor) { transform.apply(editor); }, calibration,
      kept);
}

nlohmann::json describe_edits(const ModelEdits& edits) {
  nlohmann::json changes = nlohmann::json::array();
  for (const ModelChange& change : edits.changes) {
    changes.push_back({{"name", change.name}, {"how", change.how}});
  }
  return {{"changes", changes}, {"logit_distance", json_number(edits.distance)}};
}

}  // namespace quench
