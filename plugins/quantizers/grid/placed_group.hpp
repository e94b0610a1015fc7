// The group of a quantizer that reads no rows: all that it knows is where to round.
#pragma once

#include <ATen/core/Tensor.h>

#include "quench/kit/quantizer.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

class PlacedGroup final : public kit::QuantizerGroup {
 public:
  explicit PlacedGroup(const quench_group_args& args) : device_(kit::torch_device(args.device)) {}
  // Where the model computes, and weights are to be rounded.
  at::Device device() const { return device_; }

 private:
  at::Device device_;
};

}  // namespace quench::quantizers
