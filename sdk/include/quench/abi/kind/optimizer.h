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
  double peak_lr;                /* of the schedule, for independent weight decay lr/peak_lr */
  int32_t decays;                /* 0: no weight decay for this tensor */
  const quench_tensor* weight /*: inout */;   /* float32, updated in place */
  /* same shape and dtype; the optimizer may overwrite it */
  const quench_tensor* gradient /*: life scratch */;
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
  const int64_t* shape /*: [dimensions] */; /* valid as long as the optimizer */
} quench_state_info;

/* The loss of one step's batch, as a function of all weights. Vectors are flat: float32 [n], C order,
 * in the memory of the device that `begin` was given, where tensor i of `begin` has the elements from
 * its `offset` on, and n is the largest offset plus size. On a GPU what its default stream runs next
 * finds them written. */
typedef struct quench_closure {
  uint32_t struct_size;
  void* context;
  /* Writes the mean nll in nats at `weights`, and its gradient over `gradient`, whatever was there.
   * They may be those of the arguments, or the plugin's own, and do not overlap. One forward and one
   * backward of the whole batch; the same bits for the same weights. Fails as the model does, or
   * with CANCELLED: the plugin then returns that status. Called only during the call that was given
   * the closure, on its thread. */
  quench_status (*evaluate)(void* context, const quench_tensor* weights,
                            const quench_tensor* gradient /*: out */, double* loss,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_closure;

typedef struct quench_closure_args {
  uint32_t struct_size;
  uint32_t flags;               /* 0 */
  uint64_t step;                /* 1 for the first update, as in quench_step_args */
  const quench_tensor* weights; /* flat, the stepped weights; read only */
  const quench_closure* closure;
  const quench_tensor* gradient /*: out */; /* flat; written */
} quench_closure_args;

typedef struct quench_optimizer_table {
  uint32_t struct_size;
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_optimizer** optimizer,
                          quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*destroy)(quench_optimizer* optimizer) QUENCH_NOEXCEPT;
  /* Allocates zeroed state for all tensors; shape and role decide which rule applies. `device` is
   * where weights and gradients of `step` will lie. UNSUPPORTED if the optimizer does not step
   * there: the host then begins it with the CPU, and keeps them in host memory. */
  /*: keeps */
  quench_status (*begin)(quench_optimizer* optimizer,
                         const quench_parameter_info* tensors /*: [count] */,
                         uint64_t count, quench_device device, quench_error* error) QUENCH_NOEXCEPT;
  /* Updates one tensor in place. [different tensors may be stepped on different threads] */
  quench_status (*step)(quench_optimizer* optimizer, const quench_step_args* args,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Describes state tensor `index`; QUENCH_END after the last. The same ones, in the same order,
   * from `begin` on. */
  /*: life object */
  quench_status (*state_info)(quench_optimizer* optimizer, uint64_t index, quench_state_info* info,
                              quench_error* error) QUENCH_NOEXCEPT;
  /* Copies state tensor `index` to `destination`, host memory of its shape and dtype. */
  quench_status (*state_get)(quench_optimizer* optimizer, uint64_t index,
                             const quench_tensor* destination /*: out */,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Replaces state tensor `index` by `value`, host memory of its shape and dtype. An optimizer whose whole state
   * was set steps on bit for bit like the one that it was copied from. */
  quench_status (*state_set)(quench_optimizer* optimizer, uint64_t index,
                             const quench_tensor* value, quench_error* error) QUENCH_NOEXCEPT;

  /* ---- Optional: may be NULL ----------------------------------------------------------------- */

  /* Writes the weights to evaluate and save for tensor `tensor`, given the stepped ones
   * (schedule-free methods), both on the device. NULL if they are the same. */
  /*: optional */
  quench_status (*evaluation_weights)(quench_optimizer* optimizer, uint64_t tensor,
                                      const quench_tensor* stepped,
                                      const quench_tensor* evaluated /*: out */,
                                      quench_error* error) QUENCH_NOEXCEPT;
  /* For rules that take the gradient of a step elsewhere than at the weights, or more than once:
   * sharpness-aware minimization, penalties on curvature, noise, straight-through estimators.
   *
   *   for each training step: gradient(closure) -> step(clipped) of every tensor
   *
   * Writes the gradient from which the step is made to `args->gradient`. Called after `begin`, once
   * per step and before its first `step`. Evaluates the closure at least once; the loss that the
   * host reports is that of the first evaluation. The result depends on the parameters, the
   * arguments, the state and the run's seed alone, bit for bit, for any number of threads, and the
   * state stays as it is. Arguments are borrowed for the call. */
  /*: optional */
  quench_status (*gradient)(quench_optimizer* optimizer, const quench_closure_args* args,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_optimizer_table;

#ifdef __cplusplus
}
#endif
#endif
