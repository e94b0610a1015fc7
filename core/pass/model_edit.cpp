#include "core/pass/model_edit.hpp"

#include <exception>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

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
  static Editor& self(void* context) { return *static_cast<Editor*>(context); }
  void set(const char* parameter, const quench_tensor& value);
  void divide_inputs(uint32_t block, uint32_t group, const quench_tensor& scale);
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
  editor_.get = [](void* context, const char* parameter, const quench_tensor* destination,
                   quench_error* error) noexcept -> quench_status {
    return guarded(error, [&] { self(context).model_.weight_get(parameter, *destination); });
  };
  editor_.set = [](void* context, const char* parameter, const quench_tensor* value,
                   quench_error* error) noexcept -> quench_status {
    return guarded(error, [&] { self(context).set(parameter, *value); });
  };
  editor_.change = [](void* context, const char* name, const char* how,
                      quench_error* error) noexcept -> quench_status {
    return guarded(error, [&] { self(context).edits_.changes.push_back({name, how}); });
  };
  editor_.divide_inputs = [](void* context, uint32_t block, uint32_t group,
                             const quench_tensor* scale,
                             quench_error* error) noexcept -> quench_status {
    return guarded(error, [&] { self(context).divide_inputs(block, group, *scale); });
  };
}

void Editor::describe_residual() {
  try {
    editor_.residual = &model_.residual();
  } catch (const Error& failure) {
    no_residual_ = failure.what();
  }
  editor_.no_residual = no_residual_.c_str();
}

void Editor::set(const char* parameter, const quench_tensor& value) {
  if (edits_.changes.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{} is set outside of any change", parameter);
  }
  if (!makes()) {
    return;
  }
  const bool wide = same_dtype(info_.dtype, kFloat64);
  HostTensor before(wide ? kFloat64 : kFloat32, {value.shape, value.shape + value.dimensions});
  model_.weight_get(parameter, before.view());
  kept_.keep(parameter, before);
  model_.weight_set(parameter, value);
}

void Editor::divide_inputs(uint32_t block, uint32_t group, const quench_tensor& scale) {
  if (block >= info_.blocks || group >= blocks_[block]->group_count) {
    fail(QUENCH_INVALID_ARGUMENT, "group {} of block {}: there is none", group, block);
  }
  const int64_t columns = blocks_[block]->groups[group].linears[0].in_features;
  if (!same_dtype(scale.dtype, kFloat64) || scale.dimensions != 1 || scale.shape[0] != columns) {
    fail(QUENCH_INVALID_ARGUMENT, "group {} of block {}: scale: wanted float64 [{}]", group, block,
         columns);
  }
  if (makes()) {
    const auto* values = static_cast<const double*>(scale.data);
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

}  // namespace quench
