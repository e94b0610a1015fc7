// Scores the quantized model while it is being quantized: the sequences that metrics will ask for
// run through each block as soon as it is quantized, once per setting.
#pragma once

#include <cstdint>
#include <vector>

#include "core/inputs/weights/float_weights.hpp"
#include "core/pass/pass_clock.hpp"
#include "core/pass/pass_settings.hpp"

namespace quench {

class FusedScoring {
 public:
  // All arguments must outlive it.
  FusedScoring(ModelHandle& model, FloatWeights& kept, PassSettings& settings, PassClock& clock)
      : model_(model), kept_(kept), settings_(settings), clock_(clock) {}

  // Call once the embedding is final.
  void embed();
  // Call around a block: what is quantized in between is in the model when its sequences run.
  void begin_block();
  void end_block(uint32_t block);
  // Computes the answers, with the quantized head, if there is one, and the quantized embedding if
  // the head is tied to it.
  void finish();

 private:
  // Runs `body` for each setting that has not failed; its weights, from number `first` on, are in
  // the model if the pass leaves the model float.
  template <typename Body>
  void with_weights(const std::vector<size_t>& first, Body body);
  std::vector<size_t> from_the_first() const;

  ModelHandle& model_;
  FloatWeights& kept_;
  PassSettings& settings_;
  PassClock& clock_;
  std::vector<size_t> before_block_;  // by setting: its number of weights when the block began
};

}  // namespace quench
