#include "core/pass/pass_replay.hpp"

#include "core/error.hpp"
#include "core/inputs/weights/device_tensor.hpp"

namespace quench {

namespace {

// Replaces weights of the model while the object lives. Those of the model wait on its device.
class Overlays {
 public:
  Overlays(ModelHandle& model, std::span<const quench_overlay> overlays) : model_(model) {
    try {
      for (const quench_overlay& overlay : overlays) {
        const quench_tensor& value = overlay.value;
        DeviceTensor before(model_, value.dtype, {value.shape, value.shape + value.dimensions});
        model_.weight_get(overlay.parameter, before.view());
        replaced_.emplace_back(overlay.parameter, std::move(before));
        model_.weight_set(overlay.parameter, value);
      }
    } catch (...) {
      undo();
      throw;
    }
  }
  ~Overlays() { undo(); }
  Overlays(const Overlays&) = delete;
  Overlays& operator=(const Overlays&) = delete;

  // At the end of a replay that went well. Throws.
  void restore() {
    for (; !replaced_.empty(); replaced_.pop_back()) {
      model_.weight_set(replaced_.back().first, replaced_.back().second.view());
    }
  }

 private:
  void undo() noexcept {
    try {
      restore();
    } catch (const std::exception&) {  // the model's process is gone, as what came before tells
    }
  }

  ModelHandle& model_;
  std::vector<std::pair<std::string, DeviceTensor>> replaced_;
};

}  // namespace

PassReplay::PassReplay(ModelHandle& model, ActivationStream& stream, ActivationStream* float_stream,
                       uint32_t block, uint32_t stage, bool kept)
    : model_(model),
      stream_(stream),
      float_stream_(float_stream),
      block_(block),
      stage_(kept ? 0 : stage),
      kept_(kept) {}

quench_replay_place PassReplay::place() const {
  const quench_block_info& info = model_.block(block_);
  return {sizeof(quench_replay_place), block_, stage_, info.stage_count,
          stream_.batches().size(),    &info};
}

std::span<const quench_tensor> PassReplay::replay(const quench_replay_args& args) {
  if (args.batch >= stream_.batches().size() || args.to_stage < stage_ ||
      args.to_stage > model_.block(block_).stage_count) {
    fail(QUENCH_INVALID_ARGUMENT,
         "replay of batch {} to stage {}: there are {} batches, before stage {} of {}", args.batch,
         args.to_stage, stream_.batches().size(), stage_, model_.block(block_).stage_count);
  }
  Overlays overlays(model_, {args.overlays, args.overlay_count});
  views_.clear();
  result_ = stream_.replay(args.batch, block_, stage_, args.to_stage, kept_);
  for (const ActivationStream::Named& named : result_) {
    views_.push_back(named.tensor.view());
  }
  overlays.restore();
  return views_;
}

void PassReplay::weight(const std::string& parameter, const quench_tensor& destination) {
  model_.weight_get(parameter, destination);
}

double PassReplay::gradient(const quench_replay_gradient_args& args) {
  if (stage_ != 0) {
    fail(QUENCH_FAILED_PRECONDITION,
         "gradient: the batches are held at stage {} of block {}, wanted 0, the block's input",
         stage_, block_);
  }
  if (args.batch >= stream_.batches().size()) {
    fail(QUENCH_INVALID_ARGUMENT, "gradient: batch {} of {}", args.batch, stream_.batches().size());
  }
  Overlays overlays(model_, {args.overlays, args.overlay_count});
  double loss = 0;
  stream_.with_input(args.batch, kept_, [&](const quench_batch& batch, const quench_tensor& h) {
    loss = model_.block_gradient({sizeof(quench_block_gradient_args), 0, block_, args.weight_count,
                                  &batch, &h, args.target, args.slope, args.weight, args.names,
                                  args.gradients, args.stream});
  });
  overlays.restore();
  return loss;
}

std::span<const quench_tensor> PassReplay::float_output(uint64_t batch) {
  if (float_stream_ == nullptr || !kept_) {
    fail(QUENCH_FAILED_PRECONDITION,
         "float_output: no float model runs beside this pass to the end of each block");
  }
  if (batch >= float_stream_->batches().size()) {
    fail(QUENCH_INVALID_ARGUMENT, "float_output: batch {} of {}", batch,
         float_stream_->batches().size());
  }
  float_views_ = float_stream_->carried(batch);
  return float_views_;
}

}  // namespace quench
