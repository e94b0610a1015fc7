/* Metric extension that predicts the memory of metrics that need more than a forward. */
#ifndef QUENCH_ABI_EXTENSION_METRIC_MEMORY_H
#define QUENCH_ABI_EXTENSION_METRIC_MEMORY_H

#include "quench/abi/kind/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_METRIC_MEMORY "quench.metric.memory/1"

typedef struct quench_metric_memory {
  uint32_t struct_size;
  /* Predicts the bytes that `evaluate` holds at its peak besides the model, from parameters and
   * shapes; 0 if that is negligible. `model` may be open for its shapes only (shapes.h). Corpora
   * are not available. [instance-serial] */
  quench_status (*predict)(const quench_metric* metric, const quench_model_table* table,
                           const quench_model* model, uint64_t* bytes,
                           quench_error* error) QUENCH_NOEXCEPT;
} quench_metric_memory;

#ifdef __cplusplus
}
#endif
#endif
