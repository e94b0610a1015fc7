/* Model extension for passes that need only some tokens of the last block: tells from which stage
 * on a block computes each token independently.
 */
#ifndef QUENCH_ABI_EXTENSION_TOKEN_WISE_H
#define QUENCH_ABI_EXTENSION_TOKEN_WISE_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_MODEL_TOKEN_WISE "quench.model.token_wise/1"

typedef struct quench_model_token_wise {
  uint32_t struct_size;
  /* Returns the first stage of `block` from which on, in this and all later stages, the output for
   * a token depends only on the input for that token, not on other tokens or its position: normally
   * the stage after attention; stage_count if there is none. A caller may run these stages on any
   * subset of the tokens, as a batch [M,1] of their ids without positions and segments.
   * [thread-safe]
   */
  uint32_t (*from)(const quench_model* model, uint32_t block) QUENCH_NOEXCEPT;
} quench_model_token_wise;

#ifdef __cplusplus
}
#endif
#endif
