/* Kind "transform": changes the weights of a float model so that they (or the inputs of its
 * linears) become easier to quantize while the model's function stays the same: per-channel scales
 * moved from one weight to the next, rotations of the residual stream.
 *
 *   create(parameters) -> needs -> observe(rows of a group)* -> apply -> destroy
 *
 * The host applies a transform before a quantizer begins. It then checks that the float model's
 * logits are unchanged; if not, the cell fails with the name of the change that broke them. The
 * weights are restored when the cell is done.
 *
 * Threads: [instance-serial]; with libtorch, its one-call-at-a-time rule applies (model.h).
 */
#ifndef QUENCH_ABI_KIND_TRANSFORM_H
#define QUENCH_ABI_KIND_TRANSFORM_H

#include "quench/abi/host.h"
#include "quench/abi/kind/model.h"
#include "quench/abi/kind/quantizer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_TRANSFORM "transform"

typedef struct quench_transform quench_transform; /* an instance */

#define QUENCH_TRANSFORM_NEEDS_ROWS (1u << 0) /* rows of the float model for every group */

/* The model as a transform sees and changes it. Owned by the host, valid for the call. Names are
 * parameter names, which the descriptions explain. */
struct quench_model_editor {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  void* context;
  const quench_model_info* info;
  const quench_block_info* const* blocks /*: [info.blocks] */; /* [info->blocks] */
  uint64_t parameter_count;
  const quench_parameter_info* parameters /*: [parameter_count] */;
  const quench_residual_info* residual;    /* NULL if the family does not describe it */
  const char* no_residual /*: null */;                 /* the reason, if `residual` is NULL */
  /* Copies a parameter to `destination`: same shape, any float dtype, host memory. */
  quench_status (*get)(void* context, const char* parameter,
                       const quench_tensor* destination /*: out */,
                       quench_error* error) QUENCH_NOEXCEPT;
  /* Overwrites a parameter, rounding once. Belongs to the change that was begun last. */
  quench_status (*set)(void* context, const char* parameter, const quench_tensor* value,
                       quench_error* error) QUENCH_NOEXCEPT;
  /* Begins a change that preserves the function once it is complete, without the changes after it.
   * `name` is a group's first linear or "residual stream". `how` is for the record: "folded",
   * "explicit", "skipped: ...". */
  quench_status (*change)(void* context, const char* name, const char* how,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* Divides the group's inputs by `scale` (float64 [in_features], positive, host memory) at run
   * time and multiplies its weights by it, for scales that cannot be folded. The caller must not
   * set these weights itself. */
  quench_status (*divide_inputs)(void* context, uint32_t block, uint32_t group,
                                 const quench_tensor* scale, quench_error* error) QUENCH_NOEXCEPT;
};

typedef struct quench_transform_table {
  uint32_t struct_size;

  /* `parameters_json` is an object with every parameter of the schema. The caller destroys the
   * instance. */
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_transform** transform,
                          quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*destroy)(quench_transform* transform) QUENCH_NOEXCEPT;
  /* Returns QUENCH_TRANSFORM_NEEDS_* for these parameters. */
  uint32_t (*needs)(const quench_transform* transform) QUENCH_NOEXCEPT;
  /* Observes rows of a group's input, borrowed for the call. Groups come in the order of the
   * forward, each with any number of calls. */
  quench_status (*observe)(quench_transform* transform, const quench_group_args* group,
                           const quench_observe_args* rows, quench_error* error) QUENCH_NOEXCEPT;
  /* Changes the model. If it fails, the host restores everything. */
  quench_status (*apply)(quench_transform* transform, const quench_model_editor* editor,
                         quench_error* error) QUENCH_NOEXCEPT;
} quench_transform_table;

#ifdef __cplusplus
}
#endif
#endif
