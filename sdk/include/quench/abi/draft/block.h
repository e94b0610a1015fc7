/* DRAFT. Host service for methods whose objective is the output of part of a block (clip search,
 * scale search on a parent module, block-wise reconstruction). Not offered by the host yet; the
 * layout may change until it leaves this folder. The id stays.
 */
#ifndef QUENCH_ABI_DRAFT_BLOCK_H
#define QUENCH_ABI_DRAFT_BLOCK_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_SERVICE_BLOCK "quench.block/1"

typedef struct quench_replay_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint32_t block;
  uint32_t from_stage; /* stages from_stage .. to_stage-1 are run */
  uint32_t to_stage;
  uint64_t batch;         /* index of the stored calibration batch */
  uint32_t overlay_count; /* weights that replace the model's for this replay */
  const char* const* overlay_names;
  const quench_tensor* overlay_values;
  const quench_tensor* out; /* as carry(block, to_stage) says */
  void* stream;
} quench_replay_args;

typedef struct quench_block_service {
  uint32_t struct_size;
  uint64_t (*batches)(const quench_host* host) QUENCH_NOEXCEPT;
  /* The stored tensors that enter `from_stage` for `batch`, of the quantized or of the float
   * stream. */
  quench_status (*input)(const quench_host* host, uint64_t batch, uint32_t from_stage,
                         int32_t float_stream, const quench_tensor** tensors, uint32_t* count,
                         quench_error* error) QUENCH_NOEXCEPT;
  quench_status (*replay)(const quench_host* host, const quench_replay_args* args,
                          quench_error* error) QUENCH_NOEXCEPT;
} quench_block_service;

#ifdef __cplusplus
}
#endif
#endif
