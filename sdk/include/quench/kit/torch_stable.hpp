// Tensor views for the part of libtorch that stays from version to version (torch/csrc/stable): a
// plugin that uses nothing else of it runs with any libtorch from 2.10 on. CMake:
// quench::torch_stable.
#pragma once

#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <vector>

#include "quench/abi/tensor.h"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

// A tensor in the memory of `view`, which must outlive it.
inline torch::stable::Tensor stable_tensor(const quench_tensor& view) {
  using torch::headeronly::ScalarType;
  const auto type = same(view.dtype, kFloat64)    ? ScalarType::Double
                    : same(view.dtype, kFloat32)  ? ScalarType::Float
                    : same(view.dtype, kFloat16)  ? ScalarType::Half
                    : same(view.dtype, kBFloat16) ? ScalarType::BFloat16
                    : same(view.dtype, kInt32)    ? ScalarType::Int
                                                  : ScalarType::Undefined;
  if (type == ScalarType::Undefined) {
    fail(QUENCH_UNSUPPORTED, "dtype %s has no libtorch type here", name_of(view.dtype).c_str());
  }
  std::vector<int64_t> strides(static_cast<size_t>(view.dimensions), 1);  // of C order
  for (size_t i = strides.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * view.shape[i];
  }
  if (view.strides != nullptr) {
    strides.assign(view.strides, view.strides + view.dimensions);
  }
  const bool on_host = view.device.type == QUENCH_DEVICE_CPU;
  const torch::stable::Device device(
      on_host ? torch::headeronly::DeviceType::CPU : torch::headeronly::DeviceType::CUDA,
      on_host ? 0 : view.device.index);
  return torch::stable::from_blob(
      static_cast<char*>(view.data) + view.byte_offset,
      torch::headeronly::IntHeaderOnlyArrayRef(view.shape, static_cast<size_t>(view.dimensions)),
      torch::headeronly::IntHeaderOnlyArrayRef(strides.data(), strides.size()), device, type);
}

}  // namespace quench::kit
