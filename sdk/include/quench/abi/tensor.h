/* A borrowed view of a tensor. Its layout equals that of DLPack 1.x's DLTensor, member for member,
 * so a cast passes it to any DLPack consumer.
 *
 * Ownership: a view owns nothing. The caller keeps `data`, `shape` and `strides` alive until the
 * call returns, or longer if the function's comment says so. Tensors that cross the border lie in
 * memory from the host's allocation (host.h), from the model's device allocation (kind/model.h) or
 * from a mapped file. Producers always fill `strides`; consumers treat NULL as "C-contiguous" and
 * add `byte_offset` to `data`.
 */
#ifndef QUENCH_ABI_TENSOR_H
#define QUENCH_ABI_TENSOR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Device types use DLPack's numbers. */
#define QUENCH_DEVICE_CPU 1
#define QUENCH_DEVICE_CUDA 2

typedef struct quench_device {
  int32_t type; /* QUENCH_DEVICE_* */
  int32_t index;
} quench_device;

/* Element types use DLPack's numbers: code, bits per element, lanes (always 1). */
#define QUENCH_DTYPE_INT 0
#define QUENCH_DTYPE_UINT 1
#define QUENCH_DTYPE_FLOAT 2
#define QUENCH_DTYPE_BFLOAT 4
#define QUENCH_DTYPE_BOOL 6

typedef struct quench_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} quench_dtype;

#define QUENCH_MAX_DIMENSIONS 8

typedef struct quench_tensor {
  void* data;
  quench_device device;
  int32_t dimensions;
  quench_dtype dtype;
  const int64_t* shape;   /* [dimensions], in elements */
  const int64_t* strides; /* [dimensions], in elements, or NULL for C-contiguous */
  uint64_t byte_offset;
} quench_tensor;

#ifdef __cplusplus
}
#endif
#endif
