/* Models without a checkpoint, for training from the start. */
#ifndef QUENCH_ABI_EXTENSION_INITIALIZE_H
#define QUENCH_ABI_EXTENSION_INITIALIZE_H

#include "quench/abi/kind/model.h"

/* Flag of quench_model_open_args: `source` is NULL, and the weights are drawn by the family's own
 * rule (that of its reference implementation; `initializer_range` of the config and the like) from
 * the random service, the stream of a parameter being "init/" and its name: the same for a seed on
 * every machine, whatever the number of threads. Drawn in float64, rounded once to the model's
 * dtype. A family without such a rule answers UNSUPPORTED. */
#define QUENCH_OPEN_INITIALIZE 1u

#endif
