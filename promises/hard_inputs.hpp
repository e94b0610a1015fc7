// Linears that are hard for methods of quantization.
#pragma once

#include <string>
#include <vector>

#include "promises/quantized_linear.hpp"

namespace quench::promises {

// A linear that is hard for a method, by name.
struct HardInput {
  std::string name;
  QuantizerInput input;
};
std::vector<HardInput> hard_inputs();

}  // namespace quench::promises
