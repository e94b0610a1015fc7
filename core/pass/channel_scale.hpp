// Per-channel scales that no weight absorbs: inputs are divided by them and weights multiplied, so
// that a quantizer sees the same values as if they were folded.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <utility>
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

// A copy of activations [N, in] in host memory with their columns divided. UNSUPPORTED for
// activations that are not float32 or float64.
HostTensor divided(const quench_tensor& rows, std::span<const double> scale);

// The same for activations in the model's own memory: copied to the host, divided there, and copied
// back, so that the values are the host's.
DeviceTensor divided_through_host(ModelHandle& model, const quench_tensor& rows,
                                  std::span<const double> scale);

// Such a copy where the activations are.
class DividedRows {
 public:
  DividedRows(ModelHandle& model, const quench_tensor& rows, std::span<const double> scale);
  // Valid as long as this object stays where it is.
  quench_tensor view() const { return on_device_ ? on_device_->view() : on_host_.view(); }

 private:
  HostTensor on_host_;
  std::optional<DeviceTensor> on_device_;
};

// An op of `model` that divides its inputs and passes them to `op`, whose ownership it takes.
quench_linear_op divided_inputs(ModelHandle& model, const quench_linear_op& op,
                                std::vector<double> scale);

}  // namespace quench
