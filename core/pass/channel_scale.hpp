// Per-channel scales that no weight absorbs: inputs are divided by them and weights multiplied, so
// that a quantizer sees the same values as if they were folded.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/checkpoint/host_tensor.hpp"
#include "core/pass/activation_stream.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "quench/abi/kind/model.h"

namespace quench {

// By block and group; [in_features], positive.
using InputScales = std::map<std::pair<uint32_t, uint32_t>, std::vector<double>>;

// Multiplies, or divides, column c of a float32 or float64 matrix in host memory by scale[c].
void multiply_columns(HostTensor& matrix, std::span<const double> scale);
void divide_columns(HostTensor& matrix, std::span<const double> scale);

// A copy of activations [N, in], where they are, with their columns divided: on the host, whose
// values they therefore are. UNSUPPORTED for activations that are not float32 or float64.
class DividedRows {
 public:
  DividedRows(ModelHandle& model, const quench_tensor& rows, std::span<const double> scale);
  // Valid as long as this object stays where it is.
  quench_tensor view() const {
    return std::visit([](const auto& rows) { return rows.view(); }, rows_);
  }

 private:
  std::variant<HostTensor, DeviceTensor> rows_;
};

// An op of `model` that divides its inputs and passes them to `op`, whose ownership it takes.
quench_linear_op divided_inputs(ModelHandle& model, const quench_linear_op& op,
                                std::vector<double> scale);

}  // namespace quench
