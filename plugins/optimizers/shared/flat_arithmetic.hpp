// Arithmetic on vectors over all parameters, and on the tensors in them that a rule moves: loops in
// host memory; on a GPU, where spans hold addresses, kernels that give the same bits. What the
// device runs next finds the results there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optimizers/shared/flat_parameters.hpp"
#include "optimizers/shared/flat_vector.hpp"
#include "quench/abi/kind/optimizer.h"
#include "shared/cuda/device_memory.hpp"
#include "shared/grid/grid.hpp"

namespace quench::optimizers {

class FlatArithmetic {
 public:
  // The vectors are on `device`; what is moved are the hidden matrices or all tensors.
  void begin(std::span<const quench_parameter_info> tensors, bool only_matrices,
             quench_device device);
  quench_device device() const { return device_; }
  const std::vector<FlatParameter>& moved() const { return moved_; }

  // A copy for the caller to change, valid until the next call.
  std::span<float> point_at(std::span<const float> vector);
  // Σ x² of each moved tensor of `vector`, in float64 over fixed chunks, so that the number of
  // threads changes nothing.
  std::vector<double> squared_norms(std::span<const float> vector);
  // to = from + factor · direction, each element rounded once from float64.
  void move(std::span<const float> from, double factor, std::span<const float> direction,
            std::span<float> to) const;
  // The same along a direction that is in host memory.
  void move_along_drawn(std::span<const float> from, double factor, std::span<const float> drawn,
                        std::span<float> to);
  // gradient = g + factor · ((above − g) + (below − g)), with g what was there.
  void add_second_difference(double factor, std::span<const float> above,
                             std::span<const float> below, std::span<float> gradient) const;
  // Rounds the rows of a matrix to nearest, in groups of `group_size` columns, or of all if that is
  // negative.
  void round_rows(std::span<float> matrix, size_t columns, int64_t group_size,
                  const quantizers::GridKind& kind) const;

 private:
  bool is_on_device() const { return device_.type != QUENCH_DEVICE_CPU; }
  std::vector<double> sums_on_device(std::span<const float> vector, size_t chunks);

  quench_device device_ = {QUENCH_DEVICE_CPU, 0};
  std::vector<FlatParameter> moved_;
  FlatVector point_;
  FlatVector uploaded_;
  std::optional<cuda::DeviceMemory> chunks_;  // of all moved tensors
  std::optional<cuda::DeviceMemory> sums_;    // float64, one of each chunk
};

}  // namespace quench::optimizers
