/* Models opened for their shapes, from a config without any weights. */
#ifndef QUENCH_ABI_EXTENSION_SHAPES_H
#define QUENCH_ABI_EXTENSION_SHAPES_H

#include "quench/abi/kind/model.h"

/* Flag of quench_model_open_args: the caller will only use info, parameters, block, carry,
 * extension and close. `source` holds no tensors and must not be read, and memory for weights must
 * not be touched, so opening costs no more than reading the config. A family that does not know the
 * flag fails as it would for missing tensors; the host then does without. */
#define QUENCH_OPEN_SHAPES 2u

#endif
