/* Model extension for weights that lie in memory of the caller's, where it changes them: a training
 * then keeps no second copy of what an optimizer steps.
 */
#ifndef QUENCH_ABI_EXTENSION_SHARED_WEIGHTS_H
#define QUENCH_ABI_EXTENSION_SHARED_WEIGHTS_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_MODEL_SHARED_WEIGHTS "quench.model.shared_weights/1"

typedef struct quench_model_shared_weights {
  uint32_t struct_size;
  /* Copies the weights to `vector`, flat as in extension/gradients.h, in the model's dtype, where the
   * model computes. From then on they lie there: the model reads what the vector holds when the
   * device's default stream comes to it, and weight_set writes there. The vector stays the caller's
   * and outlives every later call but `close`; weight_generation does not count what is written to
   * it. UNSUPPORTED, with nothing changed, if the dtype is not that of a flat vector.
   * [instance-serial] */
  quench_status (*share)(quench_model* model, const quench_tensor* vector,
                         quench_error* error) QUENCH_NOEXCEPT;
} quench_model_shared_weights;

#ifdef __cplusplus
}
#endif
#endif
