// Moves the calibration sequences through the model that is being quantized and, if a quantizer
// asks for it, through the float model beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/pass/activation_stream.hpp"
#include "core/pass/observed_group.hpp"
#include "core/pass/pass_clock.hpp"
#include "core/pass/pass_replay.hpp"
#include "core/pass/quantize_model.hpp"

namespace quench {

// Without open calibration there are no sequences, and calls that move them do nothing.
class CalibrationStreams {
 public:
  // Measures and counts what it does.
  CalibrationStreams(ModelHandle& model, PassClock& clock, PassCounts& counts)
      : model_(model), clock_(clock), counts_(counts) {}

  // `needs`: of the quantizer.
  void open(const CalibrationRows& calibration, uint32_t needs);
  bool have_rows() const { return stream_.has_value(); }
  // Each computes the residual stream from the ids: before the embedding is quantized, and after.
  void embed_float();
  void embed();
  // Moves all batches through the stage and their activations into the groups that it feeds.
  void advance(uint32_t block, uint32_t stage, std::vector<ObservedGroup>& groups);
  // Moves the float model's batches through the stage. They are one stage ahead: they pass through
  // a group's linears before those are quantized.
  void advance_float(uint32_t block, uint32_t stage);
  // Saves what all batches carry now; `rewind` makes it their input again.
  void keep();
  void rewind();
  // Shows the group the activations that the output head reads.
  void show_head_rows(ObservedGroup& group);
  // For quantizers that run a block on; the batches stand before `stage`.
  PassReplay replay(uint32_t block, uint32_t stage, bool from_kept);

 private:
  // Shows the groups the activations of one batch.
  void observe(size_t batch, std::vector<ObservedGroup>& groups);

  ModelHandle& model_;
  PassClock& clock_;
  PassCounts& counts_;
  std::optional<ActivationStream> stream_;
  std::optional<ActivationStream> float_stream_;
};

}  // namespace quench
