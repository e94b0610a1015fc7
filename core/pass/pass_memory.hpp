// How much memory a quantization pass needs at its peak.
#pragma once

#include <cstdint>

#include "core/pass/quantize_model.hpp"
#include "core/plugin/model_handle.hpp"

namespace quench {

// Bytes that a pass adds to what is there when it begins (the program, the model), by what they are
// for. From shapes alone.
struct PassMemory {
  uint64_t kept = 0;  // float weights of what is quantized, to put them back
  uint64_t made = 0;  // quantized weights that wait for the end of a float pass
  uint64_t activations =
      0;                // what the calibration rows (of both streams) carry, where it is widest
  uint64_t rides = 0;   // residual streams of requests that ride along
  uint64_t stage = 0;   // what one micro-batch needs inside a stage: an estimate
  uint64_t groups = 0;  // Gram matrices that exist at once, with their panels
  uint64_t solver = 0;  // the factor of the widest group, and copies of its largest weight
  uint64_t slack = 0;   // of these three, what is kept for other sizes when it is released
  uint64_t total() const {
    return kept + made + activations + rides + stage + groups + solver + slack;
  }
};

// For a quantizer that gathers a Gram matrix in float64 per group where it observes rows, and
// solves on a factor of it; others need less. `settings`: quantizers that share the pass.
PassMemory predict_pass_memory(ModelHandle& model, const QuantizerHandle& quantizer,
                               uint64_t settings, const QuantizeOptions& options);

// Bytes of this process in memory, now and at most; the second since `forget_peak_memory`, where
// the system lets a process forget, else since its start.
uint64_t resident_memory_bytes();
uint64_t peak_memory_bytes();
void forget_peak_memory();

}  // namespace quench
