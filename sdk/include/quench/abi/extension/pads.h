/* Model extension for padding that attends, as in batches of published calibrations: a pad after a
 * text attends to the text, and its rows count in what quantizers observe.
 */
#ifndef QUENCH_ABI_EXTENSION_PADS_H
#define QUENCH_ABI_EXTENSION_PADS_H

#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A family that returns this extension supports QUENCH_SEGMENT_ATTENDING_PADDING. */
#define QUENCH_MODEL_PADS "quench.model.pads/1"

/* A value of quench_batch.segments: a pad that sees the earlier tokens of its row in segment 0 and
 * nothing else, not even itself, and that no token sees. INVALID_ARGUMENT if none precedes it.
 */
#define QUENCH_SEGMENT_ATTENDING_PADDING (-2)

typedef struct quench_model_pads {
  uint32_t struct_size;
} quench_model_pads;

#ifdef __cplusplus
}
#endif
#endif
