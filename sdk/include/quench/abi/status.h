/* Status codes and the caller-owned error record.
 *
 * Every function that can fail returns a quench_status and takes a `quench_error*`. The caller owns
 * it and may pass NULL if it only wants the status. No exception crosses the border between host
 * and plugin.
 */
#ifndef QUENCH_ABI_STATUS_H
#define QUENCH_ABI_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
#define QUENCH_NOEXCEPT noexcept
extern "C" {
#else
#define QUENCH_NOEXCEPT
#endif

/* A minor adds and breaks nothing. A host accepts every module of its major version whose
 * `min_host_minor` it reaches: docs/abi.md. */
#define QUENCH_ABI_MAJOR 1
#define QUENCH_ABI_MINOR 1

typedef int32_t quench_status;

#define QUENCH_OK 0
#define QUENCH_INVALID_ARGUMENT 1    /* the argument can never be right */
#define QUENCH_FAILED_PRECONDITION 2 /* right in form, but not now: call order, missing needs */
#define QUENCH_NOT_FOUND 3           /* a named tensor, weight or key does not exist */
#define QUENCH_UNSUPPORTED 4         /* understood, but not implemented here */
#define QUENCH_RESOURCE_EXHAUSTED 5  /* memory, disk, descriptors */
#define QUENCH_DATA_LOSS 6           /* a file is truncated, has changed, or contradicts itself */
#define QUENCH_NUMERICAL 7           /* NaN, Inf, a matrix that cannot be factorized */
#define QUENCH_CANCELLED 8           /* the host asked to stop */
#define QUENCH_INTERNAL 9            /* a fault in the implementation */
#define QUENCH_END 10                /* not a failure: the sequence has no further element */
#define QUENCH_UNAVAILABLE 11        /* the host's alone: the process of the plugin has ended */

/* 512 bytes, owned by the caller. `message` is NUL-terminated UTF-8, one line: what, where, got,
 * wanted. */
typedef struct quench_error {
  uint32_t struct_size;
  int32_t code;
  char message[504];
} quench_error;

#ifdef __cplusplus
}
#endif
#endif
