/* Averaging extension for averages whose members pass by once, in a training: the sum of a chunk
 * between two members, handed out and taken back, so that a training that was stopped goes on with
 * the averages that were open. Without it the host goes back to a state before the first member.
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
  /* How many float64 values hold all that the rest of the chunk depends on beside the parameters
   * and the members of `begin`: for a weighted mean one per value of the chunk. Called after at
   * least one `accumulate` of a chunk and before its `finish`. FAILED_PRECONDITION where no chunk
   * is being summed. [instance-serial] */
  quench_status (*size)(const quench_averaging* averaging, uint64_t* count,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Writes them to `values`, which the caller owns and which has room for the `count` that `size`
   * told. The chunk's sum goes on as if nothing had been asked. INVALID_ARGUMENT for another
   * `count`. [instance-serial] */
  quench_status (*get)(const quench_averaging* averaging, double* values, uint64_t count,
                       quench_error* error) QUENCH_NOEXCEPT;
  /* Called after `begin`, on any instance with the same parameters: the chunk of `chunk` values is
   * as it was when `get` wrote `values`, after members 0 .. `members`-1. What follows is
   * accumulate(`members`), or `finish` where that was the last one, and gives the bits that the
   * undisturbed sum would have given. `values` is borrowed for the call. INVALID_ARGUMENT for what
   * no `get` can have written: another `count`, no member, or more than `begin` announced; the
   * instance then has no chunk. [instance-serial] */
  quench_status (*set)(quench_averaging* averaging, uint64_t members, uint64_t chunk,
                       const double* values, uint64_t count, quench_error* error) QUENCH_NOEXCEPT;
} quench_averaging_sums;

#ifdef __cplusplus
}
#endif
#endif
