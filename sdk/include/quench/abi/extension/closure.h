/* Optimizer extension for rules that take the gradient of a step elsewhere than at the weights, or
 * more than once: sharpness-aware minimization, penalties on curvature, noise, straight-through
 * estimators. The host hands over a closure that evaluates the step's batch at any weights.
 *
 *   for each training step: gradient(closure) -> step(clipped) of every tensor
 */
#ifndef QUENCH_ABI_EXTENSION_CLOSURE_H
#define QUENCH_ABI_EXTENSION_CLOSURE_H

#include "quench/abi/kind/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

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
                            const quench_tensor* gradient, double* loss,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_closure;

typedef struct quench_closure_args {
  uint32_t struct_size;
  uint32_t flags;               /* 0 */
  uint64_t step;                /* 1 for the first update, as in quench_step_args */
  const quench_tensor* weights; /* flat, the stepped weights; read only */
  const quench_closure* closure;
  const quench_tensor* gradient; /* flat; written */
} quench_closure_args;

#define QUENCH_OPTIMIZER_CLOSURE "quench.optimizer.closure/1"

typedef struct quench_optimizer_closure {
  uint32_t struct_size;
  /* Writes the gradient from which the step is made to `args->gradient`. Called after `begin`, once
   * per step and before its first `step`. Evaluates the closure at least once; the loss that the
   * host reports is that of the first evaluation. The result depends on the parameters, the
   * arguments, the state and the run's seed alone, bit for bit, for any number of threads, and the
   * state stays as it is. Arguments are borrowed for the call. [instance-serial] */
  quench_status (*gradient)(quench_optimizer* optimizer, const quench_closure_args* args,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_optimizer_closure;

#ifdef __cplusplus
}
#endif
#endif
