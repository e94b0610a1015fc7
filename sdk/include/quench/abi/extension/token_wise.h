/* Model extension for passes that need few tokens of the last block: from where on a block looks at
 * each token alone.
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
  /* The first stage of `block` such that in it and in all later ones what leaves for a token
   * follows from what enters for that token, whatever the others and its position are: normally the
   * stage behind the one that attends. stage_count where there is none. A caller may run these
   * stages on any of the tokens, as a batch [M,1] of their ids without positions and segments.
   * [thread-safe]
   */
  uint32_t (*from)(const quench_model* model, uint32_t block) QUENCH_NOEXCEPT;
} quench_model_token_wise;

#ifdef __cplusplus
}
#endif
#endif
