/* Model extension for methods that quantize the output head with data: it computes the head's input
 * rows.
 */
#ifndef QUENCH_ABI_EXTENSION_HEAD_H
#define QUENCH_ABI_EXTENSION_HEAD_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_MODEL_HEAD_ROWS "quench.model.head_rows/1"

typedef struct quench_model_head_rows {
  uint32_t struct_size;
  /* Maps h [R,width], the residual stream after the last block, to x [R,width], the rows that the
   * head's weight multiplies (the final norm of h). Both have the model's dtype and device. */
  quench_status (*rows)(quench_model* model, const quench_tensor* h, const quench_tensor* x,
                        void* stream, quench_error* error) QUENCH_NOEXCEPT;
} quench_model_head_rows;

#ifdef __cplusplus
}
#endif
#endif
