/* Metric extension that says before a run which models its parameters do not fit. */
#ifndef QUENCH_ABI_EXTENSION_METRIC_FITS_H
#define QUENCH_ABI_EXTENSION_METRIC_FITS_H

#include "quench/abi/kind/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_METRIC_FITS "quench.metric.fits/1"

typedef struct quench_metric_fits {
  uint32_t struct_size;
  /* Refuses (INVALID_ARGUMENT) a model that `evaluate` would fail on with these parameters, such as
   * one whose context is shorter than the blocks to measure. `model` may be open for its shapes
   * only (shapes.h). Corpora are not available. [instance-serial] */
  quench_status (*check)(const quench_metric* metric, const quench_model_table* table,
                         const quench_model* model, quench_error* error) QUENCH_NOEXCEPT;
} quench_metric_fits;

#ifdef __cplusplus
}
#endif
#endif
