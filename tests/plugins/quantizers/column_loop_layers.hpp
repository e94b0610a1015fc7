// Layers for tests of GPTQ's column loop: odd sizes, dead columns, every option that the loop
// knows.
#pragma once

#include <string>
#include <vector>

#include "quantizers/gptq/reference.hpp"

namespace quench::test {

struct ColumnLoopLayer {
  std::string name;
  quantizers::reference::Matrix weight;
  quantizers::reference::Factored factored;
  quantizers::SolverOptions options;
  bool corrected;  // by GPTAQ
};

// The same in each call. Weights are float32 values.
std::vector<ColumnLoopLayer> column_loop_layers();

}  // namespace quench::test
