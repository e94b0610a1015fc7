// A batch and its targets, kept for as long as a loss needs them.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "models/decoder/batch.hpp"
#include "quench/abi/extension/gradients.h"

namespace quench::decoder {

// Checked copies of the arrays that a quench_loss_args points to.
class LossBatch {
  struct Arrays {
    explicit Arrays(const quench_loss_args& args);
    Arrays(const Arrays&) = delete;
    Arrays& operator=(const Arrays&) = delete;

    std::array<int64_t, 2> shape{};
    std::vector<int32_t> tokens;
    std::vector<int32_t> positions;
    std::vector<int32_t> segments;
    std::vector<int32_t> targets;
    std::array<quench_tensor, 3> views{};
    quench_batch batch{};
  };
  Arrays arrays_;

 public:
  // Throws INVALID_ARGUMENT that names a wrong shape, an id or a position outside the model's
  // range, or a wrong number of targets.
  LossBatch(const quench_loss_args& args, int64_t max_positions, int64_t vocabulary,
            at::Device device);
  LossBatch(const LossBatch&) = delete;
  LossBatch& operator=(const LossBatch&) = delete;

  const Batch batch;
  const std::span<const int32_t> targets;  // [B*T]
  const at::Tensor ids;                    // int64 [B*T] on the device
};

}  // namespace quench::decoder
