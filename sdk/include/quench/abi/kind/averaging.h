/* Kind "averaging": combines the checkpoints of a trajectory into one set of weights.
 *
 *   create(parameters) -> needs -> begin(members, parameters) ->
 *   for each parameter, for each chunk of it:
 *     accumulate(member 0) .. accumulate(member m-1) -> finish
 *   -> destroy
 *
 * A chunk holds at most QUENCH_AVERAGING_CHUNK values, so memory does not grow with the tensor.
 * Only floating-point tensors come here, tied ones once; the host copies integer buffers from the
 * last member. [instance-serial; different chunks may go to different instances on different
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

/* The result does not depend on the members' order, beyond the rounding of sums: the host then
 * passes them ordered by step, tokens and name, whatever the order in which the user gave them. */
#define QUENCH_AVERAGING_ANY_ORDER (1u << 0)

typedef struct quench_averaging_member {
  uint32_t struct_size;
  const char* name; /* revision, for messages */
  int64_t step;     /* training step, or -1 where unknown */
  int64_t tokens;   /* tokens seen, or -1 */
} quench_averaging_member;

typedef struct quench_averaging_table {
  uint32_t struct_size;
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_averaging** averaging,
                          quench_error* error) QUENCH_NOEXCEPT;
  void (*destroy)(quench_averaging* averaging) QUENCH_NOEXCEPT;
  uint32_t (*needs)(const quench_averaging* averaging) QUENCH_NOEXCEPT;

  /* Which of the `count` checkpoints of a branch (ordered by step) enter the average that ends at
   * member `last`: writes up to `count` indices to `selected`, ascending. FAILED_PRECONDITION, with
   * the reason, when the average does not exist there (too few members, a spacing that is not
   * there). */
  quench_status (*select)(quench_averaging* averaging, const quench_averaging_member* members,
                          uint64_t count, uint64_t last, uint64_t* selected,
                          uint64_t* selected_count, quench_error* error) QUENCH_NOEXCEPT;
  /* Fixes the members of the average that follows. `members` is borrowed until the next `begin`. */
  quench_status (*begin)(quench_averaging* averaging, const quench_averaging_member* members,
                         uint64_t count, quench_error* error) QUENCH_NOEXCEPT;
  /* Adds `count` values of member `member`, converted to float64 by the host. Members come in
   * ascending order; the first one of a chunk starts a new sum. `count` is the same for all members
   * of a chunk. */
  quench_status (*accumulate)(quench_averaging* averaging, uint64_t member, const double* values,
                              uint64_t count, quench_error* error) QUENCH_NOEXCEPT;
  /* Writes the average of the chunk; the host rounds it once to the output dtype. */
  quench_status (*finish)(quench_averaging* averaging, double* values, uint64_t count,
                          quench_error* error) QUENCH_NOEXCEPT;

  const void* (*extension)(const quench_averaging* averaging, const char* id) QUENCH_NOEXCEPT;
} quench_averaging_table;

/* ---- Extension quench.averaging.search/1 ----------------------------------------------------- */
/* For schemes that choose members by their score (greedy soups). */
#define QUENCH_AVERAGING_SEARCH "quench.averaging.search/1"

typedef struct quench_averaging_search {
  uint32_t struct_size;
  /* Chooses members and weights. `score` is the host's: it builds the average of `count` members
   * with `weights` and measures it (lower is better). Writes one weight per member, 0 for those
   * left out. */
  quench_status (*search)(quench_averaging* averaging, const quench_averaging_member* members,
                          uint64_t count,
                          quench_status (*score)(void* context, const double* weights,
                                                 uint64_t count, double* value, quench_error* error)
                              QUENCH_NOEXCEPT,
                          void* context, double* weights, quench_error* error) QUENCH_NOEXCEPT;
  /* Like the table's `begin`, with one weight per member: what `search` passes to `score` or wrote,
   * without the members of weight 0. On any instance, also one that has not searched. */
  quench_status (*begin)(quench_averaging* averaging, const quench_averaging_member* members,
                         uint64_t count, const double* weights,
                         quench_error* error) QUENCH_NOEXCEPT;
} quench_averaging_search;

#ifdef __cplusplus
}
#endif
#endif
