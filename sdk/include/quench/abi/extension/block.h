/* Host service for methods whose objective is the output of a part of a block: scale and clip
 * search on a parent module, block-wise reconstruction, learned rounding and rotations.
 *
 * While a quantizer with QUENCH_NEEDS_BLOCK_REPLAY is in `prepare` or `quantize`,
 * the calibration batches are held at some stage of some block. From there the quantizer may run
 * the following stages any number of times, with its own weights in place of the model's: those of
 * one group, or of all linears of the block. With QUENCH_NEEDS_BLOCK_ROWS the batches are held at
 * stage 0, and all groups of the block have observed their rows. Stored batches and the model's
 * weights do not change. Outside of these calls every function returns FAILED_PRECONDITION.
 * [instance-serial, like the quantizer]
 */
#ifndef QUENCH_ABI_EXTENSION_BLOCK_H
#define QUENCH_ABI_EXTENSION_BLOCK_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_SERVICE_BLOCK "quench.block/1"

/* The stage at which the batches are held. */
typedef struct quench_replay_place {
  uint32_t struct_size;
  uint32_t block;
  uint32_t stage;  /* first stage of a replay */
  uint32_t stages; /* number of stages of the block */
  uint64_t batches;
  const quench_block_info* info; /* of the block; valid until the next call of `place` */
} quench_replay_place;

/* A weight that replaces the model's during one replay. */
typedef struct quench_overlay {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  const char* parameter;
  /* The parameter's shape, any float dtype, in host memory or on the model's device. */
  quench_tensor value;
} quench_overlay;

typedef struct quench_replay_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint64_t batch;
  uint32_t to_stage; /* runs stages place.stage .. to_stage-1 */
  uint32_t overlay_count;
  const quench_overlay* overlays /*: [overlay_count] */;
  void* stream;
} quench_replay_args;

/* A loss as a function of the block's weights, at the overlays where there are some. Since 1.1. */
typedef struct quench_replay_gradient_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint64_t batch;
  uint32_t overlay_count;
  uint32_t weight_count;
  const quench_overlay* overlays /*: [overlay_count] */;
  /* What follows is as in quench_block_gradient_args. */
  const quench_tensor* target /*: null */;
  const quench_tensor* slope /*: null */;
  double weight;
  const char* const* names /*: [weight_count] */;
  const quench_tensor* gradients /*: inout; [weight_count] */;
  void* stream;
} quench_replay_gradient_args;

typedef struct quench_block_service {
  uint32_t struct_size;
  /*: life next */
  quench_status (*place)(const quench_host* host, quench_replay_place* place,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* Runs the stages on a copy of a stored batch. `tensors` [count] are the inputs of `to_stage`, in
   * the order of carry(block, to_stage), on the model's device. The host owns them; they are valid
   * until the next replay or until the quantizer's call returns. */
  /*: life next */
  quench_status (*replay)(const quench_host* host, const quench_replay_args* args,
                          const quench_tensor** tensors /*: [count] */, uint32_t* count,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* Copies the model's value of a parameter to `destination`: same shape, any float dtype. */
  quench_status (*weight)(const quench_host* host, const char* parameter,
                          const quench_tensor* destination /*: out */,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* quench_model_table.block_gradient for a stored batch. FAILED_PRECONDITION unless batches are
   * held at stage 0, UNSUPPORTED if the family has no such function. */
  /*: optional; since 1.1 */
  quench_status (*gradient)(const quench_host* host, const quench_replay_gradient_args* args,
                            double* loss, quench_error* error) QUENCH_NOEXCEPT;
  /* What a stored batch carries out of the block in the float model, whose weights are float in all
   * blocks before, too: `tensors` [count] in the order of carry(block, stage_count), on the model's
   * device. The host owns them; they are valid until the next call or until that of the quantizer
   * returns. FAILED_PRECONDITION unless it has QUENCH_NEEDS_FLOAT_STREAM and
   * QUENCH_NEEDS_BLOCK_ROWS. */
  /*: optional; since 1.1; life next */
  quench_status (*float_output)(const quench_host* host, uint64_t batch,
                                const quench_tensor** tensors /*: [count] */, uint32_t* count,
                                quench_error* error) QUENCH_NOEXCEPT;
} quench_block_service;

#ifdef __cplusplus
}
#endif
#endif
