/* Averaging extension for averages whose members appear one by one during training. It exports and
 * restores the sum of a chunk between two members, so that a training that was interrupted
 * continues its open averages. Without it, the host restarts from a state before the first member.
 *
 *   begin -> accumulate(0) .. accumulate(n-1) -> size -> get           the sums of n members
 *   create -> begin (same members) -> set(n) -> accumulate(n) .. -> finish     the same bits
 */
#ifndef QUENCH_ABI_EXTENSION_AVERAGING_SUMS_H
#define QUENCH_ABI_EXTENSION_AVERAGING_SUMS_H

#include "quench/abi/kind/averaging.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_AVERAGING_SUMS "quench.averaging.sums/1"

typedef struct quench_averaging_sums {
  uint32_t struct_size;
  /* Returns how many float64 values hold everything that the rest of the chunk depends on, besides
   * the parameters and the members of `begin`: for a weighted mean, one per value of the chunk.
   * Called after at least one `accumulate` of a chunk and before its `finish`. FAILED_PRECONDITION
   * if no chunk is being summed. [instance-serial] */
  quench_status (*size)(const quench_averaging* averaging, uint64_t* count,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Writes them to `values`, which the caller owns and which has room for the `count` that `size`
   * returned. Does not affect the chunk's sum. INVALID_ARGUMENT for another `count`.
   * [instance-serial] */
  quench_status (*get)(const quench_averaging* averaging, double* values, uint64_t count,
                       quench_error* error) QUENCH_NOEXCEPT;
  /* Called after `begin`, on any instance with the same parameters. Restores the chunk of `chunk`
   * values to the state in which `get` wrote `values`, after members 0 .. `members`-1. The next
   * call is accumulate(`members`), or `finish` if that was the last member, and gives the same bits
   * as an uninterrupted sum. `values` is borrowed for the call. INVALID_ARGUMENT for input that no
   * `get` can have written: another `count`, no member, or more members than `begin` announced; the
   * instance then has no chunk. [instance-serial] */
  quench_status (*set)(quench_averaging* averaging, uint64_t members, uint64_t chunk,
                       const double* values, uint64_t count, quench_error* error) QUENCH_NOEXCEPT;
} quench_averaging_sums;

#ifdef __cplusplus
}
#endif
#endif
