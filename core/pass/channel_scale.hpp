// Per-channel scales that no weight absorbs: inputs are divided by them and weights multiplied, so
// that a quantizer sees the same values as if they were folded.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/checkpoint/host_tensor.hpp"
#include "quench/abi/kind/model.h"

namespace quench {

// By block and group; [in_features], positive.
using InputScales = std::map<std::pair<uint32_t, uint32_t>, std::vector<double>>;

// Multiplies, or divides, column c of a float32 or float64 matrix in host memory by scale[c].
void multiply_columns(HostTensor& matrix, std::span<const double> scale);
void divide_columns(HostTensor& matrix, std::span<const double> scale);

// A copy of activations [N, in] with their columns divided. UNSUPPORTED for activations that are
// not float32 or float64 in host memory.
HostTensor divided(const quench_tensor& rows, std::span<const double> scale);

// An op that divides its inputs and passes them to `op`, whose ownership it takes.
quench_linear_op divided_inputs(const quench_linear_op& op, std::vector<double> scale);

}  // namespace quench
