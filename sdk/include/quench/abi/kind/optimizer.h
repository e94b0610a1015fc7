/* Kind "optimizer": one update rule.
 *
 *   create(parameters) -> begin(tensors) ->
 *   for each training step: step(tensor, gradient, lr) of every tensor
 *   for each checkpoint:    evaluation_weights, where they differ from the stepped ones; state
 *   -> destroy
 *
 * The host owns schedules, gradients and clipping. An update depends only on its arguments and the
 * state, bit for bit, for any number of threads of the tasks service. The state is everything that
 * later steps depend on besides the stepped weights. [instance-serial, except where noted]
 */
#ifndef QUENCH_ABI_KIND_OPTIMIZER_H
#define QUENCH_ABI_KIND_OPTIMIZER_H

#include "quench/abi/host.h"
#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_OPTIMIZER "optimizer"

typedef struct quench_optimizer quench_optimizer;

typedef struct quench_step_args {
  uint32_t struct_size;
  uint32_t flags;                /* 0 */
  uint64_t tensor;               /* index in `begin` */
  uint64_t step;                 /* 1 for the first update */
  double lr;                     /* learning rate of this step */
  double peak_lr;                /* of the schedule, for decoupled weight decay lr/peak_lr */
  int32_t decays;                /* 0: no weight decay for this tensor */
  const quench_tensor* weight;   /* float32, updated in place */
  const quench_tensor* gradient; /* same shape and dtype; the optimizer may overwrite it */
  void* stream;
  /* Factor on the gradient (clipping by the global norm), which saves a pass over it. */
  double gradient_scale;
} quench_step_args;

/* One tensor of an optimizer's state. */
typedef struct quench_state_info {
  uint32_t struct_size;
  const char* name; /* unique; valid as long as the optimizer */
  quench_dtype dtype;
  int32_t dimensions;
  const int64_t* shape; /* [dimensions]; valid as long as the optimizer */
} quench_state_info;

typedef struct quench_optimizer_table {
  uint32_t struct_size;
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_optimizer** optimizer,
                          quench_error* error) QUENCH_NOEXCEPT;
  void (*destroy)(quench_optimizer* optimizer) QUENCH_NOEXCEPT;
  /* Allocates zeroed state for all tensors; shape and role decide which rule applies. `device` is
   * where weights and gradients of `step` will lie. UNSUPPORTED if the optimizer does not step
   * there: the host then begins it with the CPU, and keeps them in host memory. */
  quench_status (*begin)(quench_optimizer* optimizer, const quench_parameter_info* tensors,
                         uint64_t count, quench_device device, quench_error* error) QUENCH_NOEXCEPT;
  /* Updates one tensor in place. [different tensors may be stepped on different threads] */
  quench_status (*step)(quench_optimizer* optimizer, const quench_step_args* args,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Writes the weights to evaluate and save for tensor `tensor`, given the stepped ones
   * (schedule-free methods), both on the device. NULL if they are the same. */
  quench_status (*evaluation_weights)(quench_optimizer* optimizer, uint64_t tensor,
                                      const quench_tensor* stepped, const quench_tensor* evaluated,
                                      quench_error* error) QUENCH_NOEXCEPT;
  /* Describes state tensor `index`; QUENCH_END after the last. The same ones, in the same order,
   * from `begin` on. */
  quench_status (*state_info)(quench_optimizer* optimizer, uint64_t index, quench_state_info* info,
                              quench_error* error) QUENCH_NOEXCEPT;
  /* Copies state tensor `index` to `destination`, host memory of its shape and dtype. */
  quench_status (*state_get)(quench_optimizer* optimizer, uint64_t index,
                             const quench_tensor* destination,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Replaces state tensor `index` by `value`, host memory of its shape and dtype. An optimizer whose whole state
   * was set steps on bit for bit like the one that it was copied from. */
  quench_status (*state_set)(quench_optimizer* optimizer, uint64_t index,
                             const quench_tensor* value, quench_error* error) QUENCH_NOEXCEPT;
  const void* (*extension)(const quench_optimizer* optimizer, const char* id) QUENCH_NOEXCEPT;
} quench_optimizer_table;

#ifdef __cplusplus
}
#endif
#endif
