#include "core/pass/calibration_streams.hpp"

#include "core/error.hpp"
#include "core/pass/pass_settings.hpp"
#include "core/pass/routed_rows.hpp"

namespace quench {

void CalibrationStreams::open(const CalibrationRows& calibration, uint32_t needs) {
  stream_.emplace(model_, calibration.ids, calibration.starts, calibration.texts);
  counts_.calibration_tokens = calibration.starts.back();
  counts_.calibration_pads = calibration.pads();
  if ((needs & QUENCH_NEEDS_FLOAT_STREAM) != 0) {
    float_stream_.emplace(model_, calibration.ids, calibration.starts, calibration.texts);
  }
}

void CalibrationStreams::embed_float() {
  if (!float_stream_) {
    return;
  }
  clock_.timed("float forward", [&] {
    for (size_t b = 0; b < float_stream_->batches().size(); ++b) {
      float_stream_->embed(b);
    }
  });
}

void CalibrationStreams::embed() {
  if (!stream_) {
    return;
  }
  clock_.timed("forward", [&] {
    for (size_t b = 0; b < stream_->batches().size(); ++b) {
      stream_->embed(b);
    }
  });
}

void CalibrationStreams::advance(uint32_t block, uint32_t stage,
                                 std::vector<ObservedGroup>& groups) {
  if (!stream_) {
    return;
  }
  for (size_t b = 0; b < stream_->batches().size(); ++b) {
    stop_if_asked();
    clock_.timed("forward", [&] { stream_->stage(b, block, stage); });
    const MicroBatch& batch = stream_->batches()[b];
    counts_.stage_tokens += batch.rows.size() * static_cast<uint64_t>(batch.length);
    clock_.timed("observe", [&] { observe(b, groups); });
  }
  for (ObservedGroup& group : groups) {
    group.close_rows();
    counts_.observed_groups += group.unreached() ? 0 : 1;
    counts_.routed_groups += group.routed() ? 1 : 0;
    counts_.unreached_groups += group.unreached() ? 1 : 0;
    counts_.thin_groups += group.thin() ? 1 : 0;
  }
}

void CalibrationStreams::observe(size_t batch, std::vector<ObservedGroup>& groups) {
  const std::vector<quench_tensor> carried = stream_->carried(batch);
  std::vector<quench_tensor> float_carried;
  if (float_stream_) {
    float_carried = float_stream_->carried(batch);
  }
  StageRoutes routes(model_, carried);
  for (ObservedGroup& group : groups) {
    group.observe(carried, routes, float_stream_ ? &float_carried : nullptr);
  }
}

void CalibrationStreams::advance_float(uint32_t block, uint32_t stage) {
  if (!float_stream_) {
    return;
  }
  for (size_t b = 0; b < float_stream_->batches().size(); ++b) {
    stop_if_asked();
    clock_.timed("float forward", [&] { float_stream_->stage(b, block, stage); });
    const MicroBatch& batch = float_stream_->batches()[b];
    counts_.float_stage_tokens += batch.rows.size() * static_cast<uint64_t>(batch.length);
  }
}

void CalibrationStreams::keep() {
  if (stream_) {
    stream_->keep();
  }
}

void CalibrationStreams::rewind() {
  if (stream_) {
    stream_->rewind();
  }
}

void CalibrationStreams::show_head_rows(ObservedGroup& group) {
  if (!stream_) {
    return;
  }
  for (size_t b = 0; b < stream_->batches().size(); ++b) {
    stop_if_asked();
    const quench_tensor h = stream_->carried(b)[0];
    const DeviceTensor rows(model_, h.dtype, {h.shape[0], h.shape[1]});
    const quench_tensor x = rows.view();
    clock_.timed("forward", [&] { model_.head_rows(h, x); });
    clock_.timed("observe", [&] { group.observe_rows(x); });
  }
  ++counts_.observed_groups;
}

PassReplay CalibrationStreams::replay(uint32_t block, uint32_t stage, bool from_kept) {
  return {model_, *stream_, float_stream_ ? &*float_stream_ : nullptr, block, stage, from_kept};
}

}  // namespace quench
