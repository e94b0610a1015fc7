/* Host service for evaluations that consist of many equal pieces (the points of a landscape): what
 * is finished is kept, so that an evaluation that was stopped or killed goes on where it was.
 */
#ifndef QUENCH_ABI_EXTENSION_JOURNAL_H
#define QUENCH_ABI_EXTENSION_JOURNAL_H

#include "quench/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_SERVICE_JOURNAL "quench.journal/1"

/* The journal of the evaluation under way: of this model, this data and these parameters, whatever
 * the process. A host may offer the service and keep nothing. */
typedef struct quench_journal {
  uint32_t struct_size;
  /* The value of piece `index`, bit for bit; NOT_FOUND when it is not there. [thread-safe] */
  quench_status (*get)(const quench_host* host, uint64_t index, double* value) QUENCH_NOEXCEPT;
  /* Keeps the value of piece `index`; a value that cannot be kept costs time alone. [thread-safe]
   */
  void (*put)(const quench_host* host, uint64_t index, double value) QUENCH_NOEXCEPT;
} quench_journal;

#ifdef __cplusplus
}
#endif
#endif
