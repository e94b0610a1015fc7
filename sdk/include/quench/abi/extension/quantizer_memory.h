/* Quantizer extension for what an instance holds beside the rows and weights that it is handed, so
 * that the host can say what a pass will take before it begins.
 */
#ifndef QUENCH_ABI_EXTENSION_QUANTIZER_MEMORY_H
#define QUENCH_ABI_EXTENSION_QUANTIZER_MEMORY_H

#include "quench/abi/kind/quantizer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_QUANTIZER_MEMORY "quench.quantizer.memory/1"

/* Rows are, and states would be, in the memory of a GPU. */
#define QUENCH_GROUP_ON_DEVICE (1u << 0)

typedef struct quench_group_memory_args {
  uint32_t struct_size;
  uint32_t flags;                /* QUENCH_GROUP_* */
  const quench_group_info* info; /* shapes of the group's linears; borrowed for the call */
  int64_t in_features;
  quench_dtype row_dtype;    /* of the rows that `observe` would get */
  quench_dtype weight_dtype; /* of the weights that `quantize` would get */
} quench_group_memory_args;

/* Bytes that one state of the group takes, each beside the others. Tensors of the sink count; the
 * weight and its dequantized counterpart, which are the host's, do not. */
typedef struct quench_group_memory {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  /* From the first row to `end`: statistics and buffers. 0 where no rows are observed. */
  uint64_t observing;
  /* From the first `quantize` to `end`: once, for all settings that share the state. */
  uint64_t shared;
  /* From its first `quantize` to `end`: of each setting that shares the state. */
  uint64_t each;
  /* During one call of `quantize`, for the linear that takes the most. */
  uint64_t linear;
} quench_group_memory;

typedef struct quench_quantizer_memory {
  uint32_t struct_size;
  /* Fills `memory`, whose `struct_size` the caller has set, from the parameters and the shapes
   * alone; nothing has been begun. Small things may be left out. [instance-serial] */
  quench_status (*predict)(const quench_quantizer* quantizer, const quench_group_memory_args* args,
                           quench_group_memory* memory, quench_error* error) QUENCH_NOEXCEPT;
} quench_quantizer_memory;

#ifdef __cplusplus
}
#endif
#endif
