// How much memory a quantization pass needs at its peak.
#pragma once

#include <cstdint>

#include "core/pass/quantize_model.hpp"
#include "core/plugin/model_handle.hpp"

namespace quench {

// Bytes that a pass adds to what is there when it begins (the program, the model), by what they are
// for. From shapes alone.
struct PassMemory {
  uint64_t kept = 0;         // float weights of what is quantized, to put them back
  uint64_t made = 0;         // quantized weights that wait for the end of a float pass
  uint64_t activations = 0;  // what the rows (of both streams) carry, where it is widest
  uint64_t scoring = 0;      // residual streams of the requests that are scored on the way
  uint64_t stage = 0;        // what one micro-batch needs inside a stage: an estimate
  uint64_t observing = 0;    // what the states that exist at once hold of their rows
  uint64_t quantizing = 0;   // what is held for the linears of one group: the weight too
  uint64_t slack = 0;        // of these three, what is kept for other sizes when it is released
  uint64_t total() const {
    return kept + made + activations + scoring + stage + observing + quantizing + slack;
  }
};

// States of groups are counted as their quantizer says (quench.quantizer.memory/1); of one that
// says nothing, the weights alone. `settings`: quantizers that share the pass. Throws what the
// quantizer throws.
PassMemory predict_pass_memory(ModelHandle& model, const QuantizerHandle& quantizer,
                               uint64_t settings, const QuantizeOptions& options);

}  // namespace quench
