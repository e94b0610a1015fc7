/* Models without a checkpoint, for training from scratch. */
#ifndef QUENCH_ABI_EXTENSION_INITIALIZE_H
#define QUENCH_ABI_EXTENSION_INITIALIZE_H

#include "quench/abi/kind/model.h"

/* Flag of quench_model_open_args: `source` is NULL, and the weights are drawn by the family's own
 * rule (that of its reference implementation, such as `initializer_range` of the config). The
 * numbers come from the random service; a parameter's stream is "init/" and its name, so they are
 * the same for a seed on every machine and for any number of threads. Drawn in float64 and rounded
 * once to the model's dtype. UNSUPPORTED if the family has no such rule. */
#define QUENCH_OPEN_INITIALIZE 1u

#endif
