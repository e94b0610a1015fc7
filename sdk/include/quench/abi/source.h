/* A tensor source yields named tensors: a safetensors file, a torch archive, an average of other
 * sources, an overlay of quantized weights. The host owns it; a plugin borrows it for the call that
 * it is passed to.
 */
#ifndef QUENCH_ABI_SOURCE_H
#define QUENCH_ABI_SOURCE_H

#include "quench/abi/status.h"
#include "quench/abi/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct quench_tensor_info {
  uint32_t struct_size;
  const char* name; /* as in the file; valid as long as the source */
  quench_dtype dtype;
  int32_t dimensions;
  const int64_t* shape /*: [dimensions] */; /* valid as long as the source */
  /* Index of an earlier tensor that shares exactly the same storage (tied weights), or this
   * tensor's own index. */
  uint64_t shared_with;
} quench_tensor_info;

typedef struct quench_source {
  uint32_t struct_size;
  void* context;

  /* Returns the number of tensors. Their order is stable; indices start at 0. [thread-safe] */
  uint64_t (*count)(const struct quench_source* source) QUENCH_NOEXCEPT;

  /* Fills `info` for tensor `index`. INVALID_ARGUMENT if it is out of range. [thread-safe] */
  /*: life object */
  quench_status (*info)(const struct quench_source* source, uint64_t index,
                        quench_tensor_info* info, quench_error* error) QUENCH_NOEXCEPT;

  /* Finds the index of the tensor called `name`; NOT_FOUND if there is none. [thread-safe] */
  quench_status (*find)(const struct quench_source* source, const char* name, uint64_t* index,
                        quench_error* error) QUENCH_NOEXCEPT;

  /* Copies `elements` elements of tensor `index`, starting at element `first` in C order, to
   * `destination` (host memory, the tensor's own dtype). DATA_LOSS if the file has become shorter
   * or has changed. [thread-safe] */
  quench_status (*read)(const struct quench_source* source, uint64_t index, uint64_t first,
                        uint64_t elements,
                        void* destination /*: is out elements[elements of index] */,
                        quench_error* error) QUENCH_NOEXCEPT;
} quench_source;

#ifdef __cplusplus
}
#endif
#endif
