#include "core/pass/model_edit.hpp"

#include <exception>

#include "core/base/json/canonical_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/pass/activation_stream.hpp"
#include "core/pass/routed_rows.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

// The editor that a plugin gets. Applies only the first `limit` of its
// changes.
class Editor {
 public:
  Editor(ModelHandle& model, FloatWeights& kept, size_t limit);
  const quench_model_editor& get() const { return editor_; }
  ModelEdits& edits() { return edits_; }

 private:
  void get_weight(const char* parameter, const quench_tensor* destination) {
    model_.weight_get(parameter, *destination);
  }
  void set(const char* parameter, const quench_tensor* value);
  void change(const char* name, const char* how) { edits_.changes.push_back({name, how}); }
  void divide_inputs(uint32_t block, uint32_t group, const quench_tensor* scale);
  void describe_residual();
  bool makes() const { return edits_.changes.size() <= limit_; }

  ModelHandle& model_;
  FloatWeights& kept_;
  size_t limit_;
  ModelEdits edits_;
  quench_model_info info_;
  std::vector<const quench_block_info*> blocks_;
  std::string no_residual_;
  quench_model_editor editor_{};
};

Editor::Editor(ModelHandle& model, FloatWeights& kept, size_t limit)
    : model_(model), kept_(kept), limit_(limit), info_(model.info()) {
  for (uint32_t b = 0; b < info_.blocks; ++b) {
    blocks_.push_back(&model.block(b));
  }
  const std::span<const quench_parameter_info> parameters = model.parameters();
  editor_.struct_size = sizeof editor_;
  editor_.context = this;
  editor_.info = &info_;
  editor_.blocks = blocks_.data();
  editor_.parameter_count = parameters.size();
  editor_.parameters = parameters.data();
  describe_residual();
  editor_.get = Called<&Editor::get_weight>::call;
  editor_.set = Called<&Editor::set>::call;
  editor_.change = Called<&Editor::change>::call;
  editor_.divide_inputs = Called<&Editor::divide_inputs>::call;
}

void Editor::describe_residual() {
  try {
    editor_.residual = &model_.residual();
  } catch (const Error& failure) {
    no_residual_ = failure.what();
  }
  editor_.no_residual = no_residual_.c_str();
}

void Editor::set(const char* parameter, const quench_tensor* value) {
  if (edits_.changes.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{} is set outside of any change", parameter);
  }
  if (!makes()) {
    return;
  }
  const bool wide = same_dtype(info_.dtype, kFloat64);
  HostTensor before(wide ? kFloat64 : kFloat32, {value->shape, value->shape + value->dimensions});
  model_.weight_get(parameter, before.view());
  kept_.keep(parameter, before);
  model_.weight_set(parameter, *value);
}

void Editor::divide_inputs(uint32_t block, uint32_t group, const quench_tensor* scale) {
  if (block >= info_.blocks || group >= blocks_[block]->group_count) {
    fail(QUENCH_INVALID_ARGUMENT, "group {} of block {}: there is none", group, block);
  }
  const int64_t columns = blocks_[block]->groups[group].linears[0].in_features;
  if (!same_dtype(scale->dtype, kFloat64) || scale->dimensions != 1 || scale->shape[0] != columns) {
    fail(QUENCH_INVALID_ARGUMENT, "group {} of block {}: scale: wanted float64 [{}]", group, block,
         columns);
  }
  if (makes()) {
    const auto* values = static_cast<const double*>(scale->data);
    edits_.scales[{block, group}] = {values, values + columns};
  }
}

void restore_if_failed(FloatWeights& weights, const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    weights.restore();
    throw;
  }
}

// The first of `count` changes after which the logits differ from `before`.
size_t first_unsound(ModelHandle& model,
                     const std::function<void(const quench_model_editor&)>& apply,
                     const LogitProbe& probe, const std::vector<double>& before, size_t count) {
  size_t sound = 0;
  size_t unsound = count;
  while (unsound - sound > 1) {
    const size_t middle = (sound + unsound) / 2;
    FloatWeights kept(model);
    Editor editor(model, kept, middle);
    bool same = false;
    restore_if_failed(kept, [&] {
      apply(editor.get());
      same = LogitProbe::distance(before, probe.read()) <= probe.tolerance();
    });
    kept.restore();
    (same ? sound : unsound) = middle;
  }
  return unsound;
}

}  // namespace

ModelEdits edit_model(ModelHandle& model, const std::string& who,
                      const std::function<void(const quench_model_editor&)>& apply,
                      const CalibrationRows* calibration, FloatWeights& kept) {
  const LogitProbe probe(model, calibration);
  const std::vector<double> before = probe.read();
  FloatWeights replaced(model);
  Editor editor(model, replaced, std::numeric_limits<size_t>::max());
  ModelEdits edits;
  restore_if_failed(replaced, [&] {
    apply(editor.get());
    edits = std::move(editor.edits());
    edits.distance = LogitProbe::distance(before, probe.read());
  });
  if (!(edits.distance <= probe.tolerance())) {
    replaced.restore();
    const size_t number = first_unsound(model, apply, probe, before, edits.changes.size());
    const ModelChange& change = edits.changes.at(number - 1);
    fail(QUENCH_NUMERICAL,
         "{}: {} ({}) changes what the float model computes: its logits move by {:.1e} of their "
         "size, wanted at most {:.0e}",
         who, change.name, change.how, edits.distance, probe.tolerance());
  }
  kept.take_over(replaced);
  return edits;
}

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
        stop_if_asked();
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
