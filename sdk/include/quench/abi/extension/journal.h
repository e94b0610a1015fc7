/* Host service for evaluations that consist of many equal pieces (the points of a landscape). It
 * keeps finished pieces, so that an interrupted evaluation continues where it stopped.
 */
#ifndef QUENCH_ABI_EXTENSION_JOURNAL_H
#define QUENCH_ABI_EXTENSION_JOURNAL_H

#include "quench/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_SERVICE_JOURNAL "quench.journal/1"

/* The journal of the current evaluation: of this model, this data and these parameters, in any
 * process. A host may offer the service and keep nothing. */
typedef struct quench_journal {
  uint32_t struct_size;
  /* Returns the value of piece `index`, bit for bit; NOT_FOUND if there is none. [thread-safe] */
  quench_status (*get)(const quench_host* host, uint64_t index, double* value) QUENCH_NOEXCEPT;
  /* Keeps the value of piece `index`. If that fails, the piece is computed again. [thread-safe]
   */
  void (*put)(const quench_host* host, uint64_t index, double value) QUENCH_NOEXCEPT;
} quench_journal;

#ifdef __cplusplus
}
#endif
#endif
