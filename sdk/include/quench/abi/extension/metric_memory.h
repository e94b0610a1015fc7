/* Metric extension that predicts the memory of metrics that need more than a forward. */
#ifndef QUENCH_ABI_EXTENSION_METRIC_MEMORY_H
#define QUENCH_ABI_EXTENSION_METRIC_MEMORY_H

#include "quench/abi/kind/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_METRIC_MEMORY "quench.metric.memory/1"

/* Vectors over all parameters would be in the memory of the model's device
 * (extension/vectors.h). Else they are in host memory: the family does not offer that, the model
 * comes block by block, or the metric is in a process of its own. */
#define QUENCH_METRIC_VECTORS_ON_DEVICE (1u << 0)

typedef struct quench_metric_memory {
  uint32_t struct_size;
  /* Predicts the bytes that `evaluate` holds at its peak besides the model, from parameters and
   * shapes; 0 if that is negligible. `model` may be open for its shapes only (shapes.h). Corpora
   * are not available. [instance-serial] */
  quench_status (*predict)(const quench_metric* metric, const quench_model_table* table,
                           const quench_model* model, uint64_t* bytes,
                           quench_error* error) QUENCH_NOEXCEPT;
  /* The same for a model on a device that has memory of its own: the bytes there, what the model
   * holds for the metric among them, and those in host memory. flags: QUENCH_METRIC_*. NULL, or a
   * table whose struct_size ends before: nobody says where they are. [instance-serial] */
  quench_status (*predict_on_device)(const quench_metric* metric, const quench_model_table* table,
                                     const quench_model* model, uint32_t flags,
                                     uint64_t* device_bytes, uint64_t* host_bytes,
                                     quench_error* error) QUENCH_NOEXCEPT;
} quench_metric_memory;

#ifdef __cplusplus
}
#endif
#endif
