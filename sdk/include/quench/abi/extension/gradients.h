/* Model extensions for training and curvature.
 *
 * Vectors over all parameters are flat: one buffer in host memory, C order, in the model's dtype
 * (float32 for 16-bit models), ordered and offset as in quench_model_table.parameters; tied tensors
 * appear once. A family that has QUENCH_MODEL_VECTORS takes them in its device's memory, too. The
 * loss of a batch is the SUM of the scored positions' nll in nats. For the mean over several
 * batches, pass weight = 1 / (scored positions of all batches).
 *
 * All functions use the current weights. What ops round passes its derivative on as it is, straight
 * through (quench_linear_op.inputs, quench_cache_op); a linear whose op has no `inputs` is
 * UNSUPPORTED. Results do not depend on the number of threads. [instance-serial]
 */
#ifndef QUENCH_ABI_EXTENSION_GRADIENTS_H
#define QUENCH_ABI_EXTENSION_GRADIENTS_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Matrix products of blocks and head run in bfloat16, everything else in the model's dtype
 * (float32). Gradients have the model's dtype. */
#define QUENCH_LOSS_AUTOCAST_BFLOAT16 1u

typedef struct quench_loss_args {
  uint32_t struct_size;
  uint32_t flags; /* QUENCH_LOSS_* */
  const quench_batch* batch;
  const quench_tensor* targets; /* int32 [B,T], host memory; -1: not scored */
  double weight;                /* factor on everything that is added to a vector */
  void* stream;
} quench_loss_args;

#define QUENCH_MODEL_GRADIENT "quench.model.grad/1"
typedef struct quench_model_gradient {
  uint32_t struct_size;
  /* loss = Σ nll, accumulated in float64. Adds weight * dloss/dθ to the flat vector `gradient`
   * (NULL: only the loss). Runs one forward and one backward. */
  quench_status (*gradient)(quench_model* model, const quench_loss_args* args,
                            const quench_tensor* gradient /*: inout; null */, double* loss,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_model_gradient;

/* The loss of one batch, expanded around the current weights: the part that all products with the
 * batch share (forward and first backward) is computed once. */
typedef struct quench_curvature quench_curvature;

#define QUENCH_CURVATURE_HESSIAN 0      /* H = ∂²loss/∂θ² by double backward */
#define QUENCH_CURVATURE_GAUSS_NEWTON 1 /* Jᵀ·∂²loss/∂logits²·J: forward mode, then backward */
#define QUENCH_CURVATURE_FORWARD 2      /* also H, forward-over-reverse; a check of the first */

#define QUENCH_MODEL_CURVATURE "quench.model.hvp/1"
typedef struct quench_model_curvature {
  uint32_t struct_size;
  /* Expands the loss of a batch. `kind` is a QUENCH_CURVATURE_*; UNSUPPORTED if the family lacks
   * it. Adds weight * dloss/dθ to `gradient` if that is not NULL. The batch is borrowed for the
   * call. The caller closes the result before it closes the model or sets a weight. Memory: the
   * graph of a forward and a backward of the batch. */
  quench_status (*open)(quench_model* model, const quench_loss_args* args, int32_t kind,
                        const quench_tensor* gradient /*: inout; null */, double* loss,
                        quench_curvature** curvature,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Adds weight * H·v to the flat vector `product`, with the weight given to `open`. May be called
   * any number of times. */
  quench_status (*product)(quench_curvature* curvature, const quench_tensor* v,
                           const quench_tensor* product /*: inout */,
                           quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*close)(quench_curvature* curvature) QUENCH_NOEXCEPT;
} quench_model_curvature;

/* Vectors over all parameters that stay in the memory of the model's device.
 *
 * A vector is a flat one, or a range of one: [n], contiguous, in the
 * model's dtype (float32 for 16-bit models), in memory of the model's device, whichever side allocated it.
 * A family that has this extension also takes such vectors of its device for `gradient` and
 * `product`, and such parts of them for `weight_get` and `weight_set`.
 *
 * Arithmetic is in float64, and each element of a result is rounded once. Sums run in one order, so
 * that the same call gives the same bits again; the order is the family's own. INVALID_ARGUMENT
 * names a vector of another length, dtype or device. What the device's default stream runs next
 * finds the result there. [instance-serial]
 */
#define QUENCH_MODEL_VECTORS "quench.model.vectors/1"

typedef struct quench_model_vectors {
  uint32_t struct_size;
  /* Writes `value` over every element of `to`. */
  quench_status (*fill)(quench_model* model, double value, const quench_tensor* to /*: out */,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* to = Σ coefficients[k] * vectors[k], added in this order; `to` may be one of the vectors, and
   * else overlaps none. */
  quench_status (*combine)(quench_model* model, uint32_t count,
                           const quench_tensor* vectors /*: [count] */,
                           const double* coefficients /*: [count] */,
                           const quench_tensor* to /*: out */,
                           quench_error* error) QUENCH_NOEXCEPT;
  /* value = Σ a[i] * b[i]. */
  quench_status (*dot)(quench_model* model, const quench_tensor* a, const quench_tensor* b,
                       double* value, quench_error* error) QUENCH_NOEXCEPT;
} quench_model_vectors;

/* Weights that lie in memory of the caller's, where it changes them: a training then keeps no second
 * copy of what an optimizer steps. */
#define QUENCH_MODEL_SHARED_WEIGHTS "quench.model.shared_weights/1"

typedef struct quench_model_shared_weights {
  uint32_t struct_size;
  /* Copies the weights to `vector`, flat, in the model's dtype, where the
   * model computes. From then on they lie there: the model reads what the vector holds when the
   * device's default stream comes to it, and weight_set writes there. The vector stays the caller's
   * and outlives every later call but `close`; weight_generation does not count what is written to
   * it. UNSUPPORTED, with nothing changed, if the dtype is not that of a flat vector.
   * [instance-serial] */
  /*: local memory in which weights lie stays in the process of the family */
  quench_status (*share)(quench_model* model, const quench_tensor* vector /*: out */,
                         quench_error* error) QUENCH_NOEXCEPT;
} quench_model_shared_weights;

#ifdef __cplusplus
}
#endif
#endif
