/* Kind "averaging": combines the checkpoints of a trajectory into one set of weights.
 *
 *   create(parameters) -> needs -> begin(members, parameters) ->
 *   for each parameter, for each chunk of it:
 *     accumulate(member 0) .. accumulate(member m-1) -> finish
 *   -> destroy
 *
 * A chunk holds at most QUENCH_AVERAGING_CHUNK values, so memory does not grow with the tensor.
 * Only floating-point tensors are averaged, tied ones once; the host copies integer buffers from
 * the last member. [instance-serial; different chunks may use different instances on different
 * threads]
 */
#ifndef QUENCH_ABI_KIND_AVERAGING_H
#define QUENCH_ABI_KIND_AVERAGING_H

#include "quench/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_AVERAGING "averaging"
#define QUENCH_AVERAGING_CHUNK (1u << 20)

typedef struct quench_averaging quench_averaging;

/* The result does not depend on the order of the members, except for the rounding of sums. The host
 * then orders them by step, tokens and name, whatever order the user gave. */
#define QUENCH_AVERAGING_ANY_ORDER (1u << 0)

typedef struct quench_averaging_member {
  uint32_t struct_size;
  const char* name; /* revision, for messages */
  int64_t step;     /* training step; -1 if unknown */
  int64_t tokens;   /* tokens seen; -1 if unknown */
} quench_averaging_member;

typedef struct quench_averaging_table {
  uint32_t struct_size;
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_averaging** averaging,
                          quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*destroy)(quench_averaging* averaging) QUENCH_NOEXCEPT;
  uint32_t (*needs)(const quench_averaging* averaging) QUENCH_NOEXCEPT;

  /* Selects which of the `count` checkpoints of a branch (ordered by step) enter the average that
   * ends at member `last`: writes up to `count` indices to `selected`, ascending.
   * FAILED_PRECONDITION with the reason if there is no such average (too few members, or a missing
   * checkpoint of the spacing). */
  quench_status (*select)(quench_averaging* averaging,
                          const quench_averaging_member* members /*: [count] */,
                          uint64_t count, uint64_t last, uint64_t* selected /*: [count] */,
                          uint64_t* selected_count, quench_error* error) QUENCH_NOEXCEPT;
  /* Sets the members of the next average. `members` is borrowed until the next `begin`. */
  /*: keeps */
  quench_status (*begin)(quench_averaging* averaging,
                         const quench_averaging_member* members /*: [count] */,
                         uint64_t count, quench_error* error) QUENCH_NOEXCEPT;
  /* Adds `count` values of member `member`, which the host has converted to float64. Members come
   * in ascending order; the first member of a chunk starts a new sum. `count` is the same for all
   * members of a chunk. */
  quench_status (*accumulate)(quench_averaging* averaging, uint64_t member,
                              const double* values /*: [count] */,
                              uint64_t count, quench_error* error) QUENCH_NOEXCEPT;
  /* Writes the average of the chunk; the host rounds it once to the output dtype. */
  quench_status (*finish)(quench_averaging* averaging, double* values /*: [count] */,
                          uint64_t count,
                          quench_error* error) QUENCH_NOEXCEPT;

  /* ---- Optional: may be NULL ----------------------------------------------------------------- */

  /* A group, for schemes that choose members by their score (greedy soups). Chooses members and
   * weights. The host provides `score`, which builds the average of `count` members with `weights`
   * and measures it (lower is better). Writes one weight per member, 0 for members that are left
   * out. */
  /*: optional group search */
  quench_status (*search)(quench_averaging* averaging,
                          const quench_averaging_member* members /*: [count] */,
                          uint64_t count,
                          quench_status (*score)(void* context,
                                                 const double* weights /*: [count] */,
                                                 uint64_t count, double* value, quench_error* error)
                              QUENCH_NOEXCEPT,
                          void* context, double* weights /*: [count] */,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* Like `begin`, with the weights that `search` passed to `score` or wrote, one per member, without
   * members of weight 0. Works on any instance, even one that has not searched. */
  /*: optional group search; keeps */
  quench_status (*begin_weighted)(quench_averaging* averaging,
                                  const quench_averaging_member* members /*: [count] */,
                                  uint64_t count,
                                  const double* weights /*: [count] */,
                                  quench_error* error) QUENCH_NOEXCEPT;

  /* A group, for averages whose members appear one by one during training: it exports and restores
   * the sum of a chunk between two members, so that a training that was interrupted continues its
   * open averages. Without it, the host restarts from a state before the first member.
   *
   *   begin -> accumulate(0) .. accumulate(n-1) -> sums_size -> sums_get        the sums of n members
   *   create -> begin (same members) -> sums_set(n) -> accumulate(n) .. -> finish      the same bits
   *
   * Returns how many float64 values hold everything that the rest of the chunk depends on, besides
   * the parameters and the members of `begin`: for a weighted mean, one per value of the chunk.
   * Called after at least one `accumulate` of a chunk and before its `finish`. FAILED_PRECONDITION
   * if no chunk is being summed. */
  /*: optional group sums */
  quench_status (*sums_size)(const quench_averaging* averaging, uint64_t* count,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Writes them to `values`, which the caller owns and which has room for the `count` that
   * `sums_size` returned. Does not affect the chunk's sum. INVALID_ARGUMENT for another `count`. */
  /*: optional group sums */
  quench_status (*sums_get)(const quench_averaging* averaging, double* values /*: [count] */,
                            uint64_t count,
                            quench_error* error) QUENCH_NOEXCEPT;
  /* Called after `begin`, on any instance with the same parameters. Restores the chunk of `chunk`
   * values to the state in which `sums_get` wrote `values`, after members 0 .. `members`-1. The next
   * call is accumulate(`members`), or `finish` if that was the last member, and gives the same bits
   * as an uninterrupted sum. `values` is borrowed for the call. INVALID_ARGUMENT for input that no
   * `sums_get` can have written: another `count`, no member, or more members than `begin` announced;
   * the instance then has no chunk. */
  /*: optional group sums */
  quench_status (*sums_set)(quench_averaging* averaging, uint64_t members, uint64_t chunk,
                            const double* values /*: [count] */, uint64_t count,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_averaging_table;

#ifdef __cplusplus
}
#endif
#endif
