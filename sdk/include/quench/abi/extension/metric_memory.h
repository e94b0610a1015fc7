/* Metric extension for those that need more memory than a forward: what a plan can say of it. */
#ifndef QUENCH_ABI_EXTENSION_METRIC_MEMORY_H
#define QUENCH_ABI_EXTENSION_METRIC_MEMORY_H

#include "quench/abi/kind/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_METRIC_MEMORY "quench.metric.memory/1"

typedef struct quench_metric_memory {
  uint32_t struct_size;
  /* Bytes that `evaluate` will hold at its peak beside the model, as far as the parameters and the
   * shapes tell; 0 where that is nothing to speak of. `model` may have been opened for its shapes
   * alone (shapes.h); corpora are not there. [instance-serial] */
  quench_status (*predict)(const quench_metric* metric, const quench_model_table* table,
                           const quench_model* model, uint64_t* bytes,
                           quench_error* error) QUENCH_NOEXCEPT;
} quench_metric_memory;

#ifdef __cplusplus
}
#endif
#endif
