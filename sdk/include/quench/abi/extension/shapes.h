/* Models as descriptions: what a config makes, without any weights. */
#ifndef QUENCH_ABI_EXTENSION_SHAPES_H
#define QUENCH_ABI_EXTENSION_SHAPES_H

#include "quench/abi/kind/model.h"

/* Flag of quench_model_open_args: only info, parameters, block, carry, extension and close will be
 * called. `source` holds no tensor and is not to be read, and no memory of weights is to be
 * touched, so that opening costs no more than reading the config. A family that does not know the
 * flag fails, as it would for a checkpoint that lacks its tensors; the host then does without. */
#define QUENCH_OPEN_SHAPES 2u

#endif
