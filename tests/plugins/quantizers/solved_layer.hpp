// The layers of column_loop_layers.hpp as tensors, solved by the kernels where the weight is.
#pragma once

#include <ATen/core/Tensor.h>

#include "quantizers/gptq/device/solve_by_kernels.hpp"
#include "tests/plugins/quantizers/column_loop_layers.hpp"

namespace quench::test {

struct SolvedLayer {
  std::vector<uint8_t> codes;
  std::vector<double> scales;
  std::vector<double> zeros;
  std::vector<int32_t> g_idx;
  double loss;
  bool operator==(const SolvedLayer&) const = default;
};

// `type`: of the weight.
SolvedLayer solved_by_kernels(const ColumnLoopLayer& layer, at::ScalarType type, at::Device device);

// To options.format.
quantizers::SolvedThere solved_to_format(const ColumnLoopLayer& layer, at::ScalarType type,
                                         at::Device device);

// The dequantized weight without codes, and what the codes of `solved` stand for.
at::Tensor dequantized_by_kernels(const ColumnLoopLayer& layer, at::ScalarType type,
                                  at::Device device);
at::Tensor dequantized_from(const SolvedLayer& solved, const ColumnLoopLayer& layer,
                            at::ScalarType type);

}  // namespace quench::test
