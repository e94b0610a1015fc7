/* Status codes and the caller-owned error record.
 *
 * Every function that can fail returns a quench_status and takes a `quench_error*`, which the
 * caller owns and which may be NULL when the caller wants the code only. Nothing is thrown across
 * the border.
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

/* ABI 0.x: both sides must have been built for the same minor; from 1.0 on, a host accepts every
 * module of its major whose `min_host_minor` it reaches. */
#define QUENCH_ABI_MAJOR 0
#define QUENCH_ABI_MINOR 2

typedef int32_t quench_status;

#define QUENCH_OK 0
#define QUENCH_INVALID_ARGUMENT 1    /* the caller passed something that can never be right */
#define QUENCH_FAILED_PRECONDITION 2 /* right in form, not now: call order, missing needs */
#define QUENCH_NOT_FOUND 3           /* a named tensor, weight, key does not exist */
#define QUENCH_UNSUPPORTED 4         /* understood, and this implementation cannot do it */
#define QUENCH_RESOURCE_EXHAUSTED 5  /* memory, disk, descriptors */
#define QUENCH_DATA_LOSS 6           /* a file is truncated, changed, or contradicts itself */
#define QUENCH_NUMERICAL 7           /* NaN, Inf, a matrix that cannot be factorized */
#define QUENCH_CANCELLED 8           /* the host asked to stop */
#define QUENCH_INTERNAL 9            /* a fault of the implementation */
#define QUENCH_END 10                /* not a failure: a sequence has no further element */

/* 512 bytes, caller-owned. `message` is UTF-8, NUL-terminated, one line: what, where, got, wanted.
 */
typedef struct quench_error {
  uint32_t struct_size;
  int32_t code;
  char message[504];
} quench_error;

#ifdef __cplusplus
}
#endif
#endif
