// AdamW (Loshchilov & Hutter 2019, algorithm 2) with clipping of the gradient's norm.
#pragma once

#include <vector>

#include "tools/quickstart_trajectory/transformer.hpp"

namespace quickstart {

class AdamW {
 public:
  explicit AdamW(const std::vector<Parameter>& parameters);

  // One step from the gradients that backward() left, which are then cleared.
  void step(double learning_rate);

 private:
  struct Slot {
    at::Tensor value;
    std::vector<float> mean;      // of the gradient
    std::vector<float> variance;  // of the gradient, uncentred
  };
  std::vector<Slot> slots_;
  int steps_ = 0;
};

}  // namespace quickstart
