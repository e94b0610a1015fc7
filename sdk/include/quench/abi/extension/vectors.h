/* Model extension for vectors over all parameters that stay in the memory of the model's device.
 *
 * A vector is what extension/gradients.h calls flat, or a range of one: [n], contiguous, in the
 * model's dtype (float32 for 16-bit models), in memory of the model's device, whoever allocated it.
 * A family that has this extension also takes such vectors of its device for `gradient` and
 * `product` of extension/gradients.h, and such parts of them for `weight_get` and `weight_set`.
 *
 * Arithmetic is in float64, and each element of a result is rounded once. Sums run in one order, so
 * that the same call gives the same bits again; the order is the family's own. INVALID_ARGUMENT
 * names a vector of another length, dtype or device. What the device's default stream runs next
 * finds the result there. [instance-serial]
 */
#ifndef QUENCH_ABI_EXTENSION_VECTORS_H
#define QUENCH_ABI_EXTENSION_VECTORS_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_MODEL_VECTORS "quench.model.vectors/1"

typedef struct quench_model_vectors {
  uint32_t struct_size;
  /* Writes `value` over every element of `to`. */
  quench_status (*fill)(quench_model* model, double value, const quench_tensor* to,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* to = Σ coefficients[k] * vectors[k], added in this order; `to` may be one of the vectors, and
   * else overlaps none. */
  quench_status (*combine)(quench_model* model, uint32_t count, const quench_tensor* vectors,
                           const double* coefficients, const quench_tensor* to,
                           quench_error* error) QUENCH_NOEXCEPT;
  /* value = Σ a[i] * b[i]. */
  quench_status (*dot)(quench_model* model, const quench_tensor* a, const quench_tensor* b,
                       double* value, quench_error* error) QUENCH_NOEXCEPT;
} quench_model_vectors;

#ifdef __cplusplus
}
#endif
#endif
