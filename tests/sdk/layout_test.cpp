// The layout as C++ sees it, against C and against DLPack.
#include "tests/sdk/layout.h"

#include <catch2/catch.hpp>
#ifdef QUENCH_HAS_DLPACK
#include <ATen/dlpack.h>

static_assert(sizeof(quench_tensor) == sizeof(DLTensor));
static_assert(offsetof(quench_tensor, data) == offsetof(DLTensor, data));
static_assert(offsetof(quench_tensor, device) == offsetof(DLTensor, device));
static_assert(offsetof(quench_tensor, dimensions) == offsetof(DLTensor, ndim));
static_assert(offsetof(quench_tensor, dtype) == offsetof(DLTensor, dtype));
static_assert(offsetof(quench_tensor, shape) == offsetof(DLTensor, shape));
static_assert(offsetof(quench_tensor, strides) == offsetof(DLTensor, strides));
static_assert(offsetof(quench_tensor, byte_offset) == offsetof(DLTensor, byte_offset));
static_assert(QUENCH_DEVICE_CPU == kDLCPU && QUENCH_DEVICE_CUDA == kDLCUDA);
static_assert(QUENCH_DTYPE_INT == kDLInt && QUENCH_DTYPE_UINT == kDLUInt &&
              QUENCH_DTYPE_FLOAT == kDLFloat && QUENCH_DTYPE_BFLOAT == kDLBfloat &&
              QUENCH_DTYPE_BOOL == kDLBool);
#endif

extern "C" size_t c_size_of_tensor(void);
extern "C" size_t c_size_of_model_table(void);

TEST_CASE("abi: C and C++ see structs of the same size", "[sdk]") {
  CHECK(c_size_of_tensor() == sizeof(quench_tensor));
  CHECK(c_size_of_model_table() == sizeof(quench_model_table));
}
