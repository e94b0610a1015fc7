#include "optimizers/shared/flat_parameters.hpp"

namespace quench::optimizers {

std::vector<FlatParameter> flat_parameters(std::span<const quench_parameter_info> tensors,
                                           bool only_matrices) {
  std::vector<FlatParameter> out;
  for (const quench_parameter_info& tensor : tensors) {
    if (only_matrices && tensor.role != QUENCH_ROLE_MATRIX) {
      continue;
    }
    size_t elements = 1;
    for (int32_t d = 0; d < tensor.dimensions; ++d) {
      elements *= static_cast<size_t>(tensor.shape[d]);
    }
    const size_t columns =
        tensor.dimensions > 0 ? static_cast<size_t>(tensor.shape[tensor.dimensions - 1]) : 1;
    out.push_back({tensor.name, static_cast<size_t>(tensor.offset), elements, columns});
  }
  return out;
}

}  // namespace quench::optimizers
