/* Measures how fast the machine multiplies matrices, the way the model does it. */
#ifndef QUENCH_ABI_EXTENSION_PRODUCT_RATE_H
#define QUENCH_ABI_EXTENSION_PRODUCT_RATE_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_MODEL_PRODUCT_RATE "quench.model.product_rate/1"

typedef struct quench_model_product_rate {
  uint32_t struct_size;
  /* Measures floating-point operations per second for a product of two large matrices on the
   * model's device, with the run's threads: the best of several, in about a quarter of a second.
   * `flags` are QUENCH_LOSS_* (extension/gradients.h), which set the element type of a training's
   * products. [instance-serial] */
  quench_status (*measure)(quench_model* model, uint32_t flags, double* operations_per_second,
                           quench_error* error) QUENCH_NOEXCEPT;
} quench_model_product_rate;

#ifdef __cplusplus
}
#endif
#endif
