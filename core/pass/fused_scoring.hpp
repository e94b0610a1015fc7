// Scores of the quantized model that are worked out while it is being quantized: what metrics are
// known to ask runs through each block as soon as it is quantized, once for each setting.
#pragma once

#include <cstdint>
#include <vector>

#include "core/pass/pass_clock.hpp"
#include "core/pass/pass_settings.hpp"
#include "core/weights/float_weights.hpp"

namespace quench {

class FusedScoring {
 public:
  // All outlive it.
  FusedScoring(ModelHandle& model, FloatWeights& kept, PassSettings& settings, PassClock& clock)
      : model_(model), kept_(kept), settings_(settings), clock_(clock) {}

  // Once the embedding is what it will be.
  void embed();
  // Around a block: what is quantized between them is in the model while its rows run through.
  void begin_block();
  void end_block(uint32_t block);
  // The answers, with the quantized head, if there is one, and the quantized embedding where it is
  // tied.
  void finish();

 private:
  // Runs `body` for each setting that has not failed, with its weights from `first` of them on in
  // the model where the pass leaves the model float.
  template <typename Body>
  void with_weights(const std::vector<size_t>& first, Body body);
  std::vector<size_t> from_the_first() const;

  ModelHandle& model_;
  FloatWeights& kept_;
  PassSettings& settings_;
  PassClock& clock_;
  std::vector<size_t> before_block_;  // by setting: its weights when the block began
};

}  // namespace quench
