// Where the tensors lie in a vector over all parameters, and those of them that a rule moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quench/abi/kind/optimizer.h"

namespace quench::optimizers {

struct FlatParameter {
  std::string name;
  size_t offset;
  size_t elements;
  size_t columns;  // of a row: the last dimension
};

// The hidden matrices, which are what quantizers round, or all tensors.
std::vector<FlatParameter> flat_parameters(std::span<const quench_parameter_info> tensors,
                                           bool only_matrices);

template <typename T>
std::span<T> part_of(std::span<T> vector, const FlatParameter& parameter) {
  return vector.subspan(parameter.offset, parameter.elements);
}

}  // namespace quench::optimizers
