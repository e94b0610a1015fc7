// Derivatives find a parameter by its storage, so of a tensor that was computed from one, such as
// 1 + w, an operation with a backward of its own has none.
#pragma once

#include <ATen/core/Tensor.h>

#include "quench/kit/error.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::decoder {

// Without this the derivative would be lost without a word.
[[noreturn]] inline void refuse_derived(const at::Tensor& weight) {
  kit::fail(
      QUENCH_INTERNAL,
      "a weight %s is none of the model's parameters, so its derivative would be lost; wanted "
      "a parameter, or operations of ATen on tracked(parameter) where recording()",
      kit::shape_text({weight.sizes().data(), weight.sizes().size()}).c_str());
}

}  // namespace quench::decoder
