// Predicts the peak memory of a quantization pass.
#pragma once

#include <cstdint>
#include <vector>

#include "core/pass/quantize_model.hpp"
#include "core/plugin/handles/model_handle.hpp"

namespace quench {

// Bytes that a pass adds to what exists when it begins (program, model), by purpose. Computed from
// shapes alone.
struct PassMemory {
  uint64_t kept = 0;          // float weights of what is quantized, to restore them
  bool kept_on_gpu = false;   // they stay on the device
  bool stays_on_gpu = false;  // weights are quantized there, and not out of host memory
  uint64_t made = 0;          // quantized weights that wait for the end of a float pass
  uint64_t activations = 0;   // what the sequences (of both streams) carry, at the widest stage
  uint64_t scoring = 0;       // residual streams of the fused score requests
  uint64_t turn = 0;          // of these two what micro-batches carry that are at their turn
  bool rests = false;         // activations wait in host memory, and only a turn is on the device
  bool scoring_rests = false;
  uint64_t stage = 0;            // what one micro-batch needs inside a stage: an estimate
  uint64_t observing = 0;        // the states of groups that exist at once, where the model is
  uint64_t observing_apart = 0;  // those of a quantizer in a process of its own, in host memory
  uint64_t quantizing = 0;       // buffers for the linears of one group, including the weight
  bool computes_on_gpu = true;   // of a model there; a quantizer in a process of its own does not
  uint64_t slack = 0;            // released memory of these three that stays cached for other sizes
  uint64_t total() const {
    return kept + made + activations + scoring + stage + observing + observing_apart + quantizing +
           slack;
  }
  // The same of a model on a GPU. Buffers of quantizers are there, and in host memory, too, where
  // weights come from and go to it; those of one in a process of its own are in host memory alone.
  // What sequences carry is there, or waits in host memory until its turn.
  uint64_t on_gpu() const { return on_gpu_by_block() + (kept_on_gpu ? kept : 0); }
  // Where the model comes block by block, whose float weights are in host memory.
  uint64_t on_gpu_by_block() const {
    return (rests ? 0 : activations) + (scoring_rests ? 0 : scoring) +
           (rests || scoring_rests ? turn : 0) + stage + observing +
           (computes_on_gpu ? quantizing : 0);
  }
  uint64_t beside_gpu() const {
    return (kept_on_gpu ? 0 : kept) + made + (stays_on_gpu ? 0 : quantizing) + observing_apart +
           (rests ? activations : 0) + (scoring_rests ? scoring : 0);
  }
};

// What a pass is given.
struct PassWork {
  bool on_gpu = false;                     // whether the model is, or would be, on one
  uint64_t settings = 1;                   // quantizers that share the pass
  uint64_t tokens = 0;                     // of all calibration sequences; 0: no calibration
  uint64_t longest = 0;                    // tokens of the longest of them
  std::vector<uint64_t> scored;            // tokens of each fused score request
  const QuantizerHandle* judge = nullptr;  // layer-error evaluator, or null
};
PassWork work_of(const ModelHandle& model, const QuantizeOptions& options, uint64_t settings);

// Whether the device of the model has room for a second copy of what is quantized: the float
// weights then stay there until they are put back.
bool keeps_weights_on_device(ModelHandle& model);

// Asks the quantizer for the size of groups' states (`predict_memory`); without an answer,
// counts only the weights. `model` may be open for its shapes only (QUENCH_OPEN_SHAPES). Throws
// what the quantizer throws.
PassMemory predict_pass_memory(ModelHandle& model, const QuantizerHandle& quantizer,
                               const PassWork& work);

}  // namespace quench
