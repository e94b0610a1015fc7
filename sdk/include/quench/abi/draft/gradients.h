/* DRAFT. Model extensions for training and curvature. Nothing here is implemented by the built-in
 * families yet; the layout may change until it leaves this folder. Ids stay.
 *
 * Vectors over all parameters are flat: one host buffer of float32 or float64, in the order and at
 * the offsets of quench_model_table.parameters, tied tensors once. The loss is the mean over scored
 * positions.
 */
#ifndef QUENCH_ABI_DRAFT_GRADIENTS_H
#define QUENCH_ABI_DRAFT_GRADIENTS_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct quench_loss_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  const quench_batch* batch;
  const quench_tensor* targets; /* int32 [B,T], host memory; -1: not scored */
  double weight;                /* factor on everything that is added */
  void* stream;
} quench_loss_args;

#define QUENCH_MODEL_GRADIENT "quench.model.grad/1"
typedef struct quench_model_gradient {
  uint32_t struct_size;
  /* loss = mean nll; adds weight * dloss/dθ to the flat vector `gradient`. */
  quench_status (*gradient)(quench_model* model, const quench_loss_args* args,
                            const quench_tensor* gradient, double* loss,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_model_gradient;

#define QUENCH_MODEL_HESSIAN "quench.model.hvp/1"
typedef struct quench_model_hessian {
  uint32_t struct_size;
  /* Adds weight * H·v to the flat vector `product`; H the Hessian of the mean nll at the current
   * weights. */
  quench_status (*product)(quench_model* model, const quench_loss_args* args,
                           const quench_tensor* v, const quench_tensor* product,
                           quench_error* error) QUENCH_NOEXCEPT;
} quench_model_hessian;

#ifdef __cplusplus
}
#endif
#endif
