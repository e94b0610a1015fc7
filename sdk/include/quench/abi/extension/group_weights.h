/* Quantizer extension for methods that decide for an input group as a whole (such as one channel
 * scale for q, k and v): it passes the weights of all its linears at once.
 */
#ifndef QUENCH_ABI_EXTENSION_GROUP_WEIGHTS_H
#define QUENCH_ABI_EXTENSION_GROUP_WEIGHTS_H

#include "quench/abi/kind/quantizer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_QUANTIZER_GROUP_WEIGHTS "quench.quantizer.group_weights/1"

typedef struct quench_group_weights_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint32_t count; /* linears of the group */
  /* [count], each as and where `quantize` would get it; borrowed for the call */
  const quench_tensor* weights;
  void* stream;
} quench_group_weights_args;

typedef struct quench_quantizer_group_weights {
  uint32_t struct_size;
  /* Called once per state and per instance that quantizes on it, after the last row and before that
   * instance's first `quantize`. A quantizer with this extension must also quantize linears of a
   * state without this call, each on its own. [instance-serial] */
  quench_status (*prepare)(quench_quantizer* quantizer, quench_quantizer_state* state,
                           const quench_group_weights_args* args,
                           quench_error* error) QUENCH_NOEXCEPT;
} quench_quantizer_group_weights;

#ifdef __cplusplus
}
#endif
#endif
