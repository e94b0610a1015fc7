#include "optimizers/shared/flat_parameters.hpp"

#include "optimizers/shared/step.hpp"

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

double squared_norm(std::span<const float> values) {
  std::vector<double> sums((values.size() + kElementsPerTask - 1) / kElementsPerTask);
  for_elements(values.size(), [&](size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += static_cast<double>(values[i]) * values[i];
    }
    if (begin < end) {
      sums[begin / kElementsPerTask] = sum;
    }
  });
  double total = 0;
  for (const double sum : sums) {
    total += sum;
  }
  return total;
}

void add_scaled(std::span<const float> from, double factor, std::span<const float> direction,
                std::span<float> to) {
  for_elements(from.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      to[i] = static_cast<float>(from[i] + factor * direction[i]);
    }
  });
}

}  // namespace quench::optimizers
