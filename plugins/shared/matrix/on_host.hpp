// Who computes with a tensor: the kernels for processors, or libtorch's own operations, as on a
// GPU.
#pragma once

#include <ATen/core/Tensor.h>

namespace quench::matrix {

// Whether the kernels for processors do: for every tensor in host memory.
bool on_host(const at::Tensor& tensor);

// While one lives, libtorch does for those, too, in all threads. For tests, which so run what a GPU
// is given.
class LibtorchAlone {
 public:
  LibtorchAlone();
  LibtorchAlone(const LibtorchAlone&) = delete;
  LibtorchAlone& operator=(const LibtorchAlone&) = delete;
  ~LibtorchAlone();
};

}  // namespace quench::matrix
