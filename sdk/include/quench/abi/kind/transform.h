/* Kind "transform": changes the weights of a float model so that its function stays what it is and
 * its weights (or inputs of its linears) become easier to quantize: per-channel scales that one
 * weight loses and the next one gains, rotations of the residual stream.
 *
 *   create(parameters) -> needs -> observe(rows of a group)* -> apply -> destroy
 *
 * The host applies a transform before a quantizer begins, and checks then that the float model's
 * logits are what they were; if not, the cell fails with the name of the change that broke them.
 * The weights are set back when the cell is done.
 *
 * Threads: [instance-serial]; one that uses libtorch shares its one-call-at-a-time rule (model.h).
 */
#ifndef QUENCH_ABI_KIND_TRANSFORM_H
#define QUENCH_ABI_KIND_TRANSFORM_H

#include "quench/abi/extension/residual.h"
#include "quench/abi/host.h"
#include "quench/abi/kind/model.h"
#include "quench/abi/kind/quantizer.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_TRANSFORM "transform"

typedef struct quench_transform quench_transform; /* an instance */

#define QUENCH_TRANSFORM_NEEDS_ROWS (1u << 0) /* rows of the float model for every group */

/* The model as a transform sees and changes it. Host-owned, valid for the call. Names are parameter
 * names; what they stand for is in the descriptions. */
typedef struct quench_model_editor {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  void* context;
  const quench_model_info* info;
  const quench_block_info* const* blocks; /* [info->blocks] */
  uint64_t parameter_count;
  const quench_parameter_info* parameters; /* [parameter_count] */
  const quench_residual_info* residual;    /* NULL where the family does not say */
  const char* no_residual;                 /* then the reason */
  /* Copies a parameter to `destination`: same shape, any float dtype, host memory. */
  quench_status (*get)(void* context, const char* parameter, const quench_tensor* destination,
                       quench_error* error) QUENCH_NOEXCEPT;
  /* Overwrites a parameter, rounding once. Part of the change begun last. */
  quench_status (*set)(void* context, const char* parameter, const quench_tensor* value,
                       quench_error* error) QUENCH_NOEXCEPT;
  /* Begins a change that leaves the function as it is when it is complete, and does so without
   * those that follow. `name`: a group's first linear, "residual stream". `how` is for the record:
   * "folded", "explicit", "skipped: ...". */
  quench_status (*change)(void* context, const char* name, const char* how,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* The group's inputs are divided by `scale` (float64 [in_features], positive, host memory) as
   * they come, and its weights multiplied by it: what cannot be folded. The weights are not to be
   * set by the caller. */
  quench_status (*divide_inputs)(void* context, uint32_t block, uint32_t group,
                                 const quench_tensor* scale, quench_error* error) QUENCH_NOEXCEPT;
} quench_model_editor;

typedef struct quench_transform_table {
  uint32_t struct_size;

  /* `parameters_json`: an object with every parameter of the schema. The caller destroys the
   * instance. */
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_transform** transform,
                          quench_error* error) QUENCH_NOEXCEPT;
  void (*destroy)(quench_transform* transform) QUENCH_NOEXCEPT;
  /* QUENCH_TRANSFORM_NEEDS_* for these parameters. */
  uint32_t (*needs)(const quench_transform* transform) QUENCH_NOEXCEPT;
  /* Takes in rows of a group's input, borrowed for the call; groups in the order of the forward,
   * each any number of times. */
  quench_status (*observe)(quench_transform* transform, const quench_group_args* group,
                           const quench_observe_args* rows, quench_error* error) QUENCH_NOEXCEPT;
  /* Changes the model. After a failure the host sets everything back. */
  quench_status (*apply)(quench_transform* transform, const quench_model_editor* editor,
                         quench_error* error) QUENCH_NOEXCEPT;

  const void* (*extension)(const quench_transform* transform, const char* id) QUENCH_NOEXCEPT;
} quench_transform_table;

/* ---- Extension quench.quantizer.plan/1 of a quantizer ---------------------------------------- */
/* For quantizers whose weights are those of a changed float model (a channel scale that is folded
 * into what precedes the group): the change, for all groups that this instance has quantized in
 * its latest pass, to be applied to the float model. The host checks with it that the scales' places are sound. */
#define QUENCH_QUANTIZER_PLAN "quench.quantizer.plan/1"

typedef struct quench_quantizer_plan {
  uint32_t struct_size;
  quench_status (*apply)(quench_quantizer* quantizer, const quench_model_editor* editor,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* A pass begins: the change is that of its groups alone, and what earlier passes have left is
   * forgotten. [instance-serial] */
  void (*begin_pass)(quench_quantizer* quantizer) QUENCH_NOEXCEPT;
} quench_quantizer_plan;

#ifdef __cplusplus
}
#endif
#endif
