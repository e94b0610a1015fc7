/* Kind "quantizer": turns the weights of linears into codes.
 *
 *   create(parameters) -> needs ->
 *   for each pass over a model, for each input group, in order of the forward:
 *     begin(group) -> observe(rows)* -> quantize(linear) for each of its linears -> end
 *   -> destroy
 *
 * One instance serves any number of passes, over one model or several, one pass after the other:
 * what it gives must not depend on those before.
 *
 * One state serves all linears of a group, so what is derived from their common input (the Gram
 * matrix, a factorization) exists exactly once. Without calibration the host calls begin,
 * quantize and end without any rows; a quantizer that needs rows then fails with
 * FAILED_PRECONDITION.
 *
 * Threads: [instance-serial]; a quantizer that uses libtorch obeys its one-call-at-a-time rule
 * (model.h).
 */
#ifndef QUENCH_ABI_KIND_QUANTIZER_H
#define QUENCH_ABI_KIND_QUANTIZER_H

#include "quench/abi/host.h"
#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_QUANTIZER "quantizer"

typedef struct quench_quantizer quench_quantizer;             /* an instance */
typedef struct quench_quantizer_state quench_quantizer_state; /* an open input group */

#define QUENCH_NEEDS_ROWS (1u << 0) /* calibration is required */
#define QUENCH_USES_ROWS (1u << 1)  /* observes rows if there is calibration (for diagnostics) */
#define QUENCH_NEEDS_FLOAT_STREAM (1u << 2) /* observe also gets the float model's rows */
#define QUENCH_NEEDS_SEQUENTIAL (1u << 3)   /* rows must come from the already quantized part */
#define QUENCH_NEEDS_BLOCK_REPLAY (1u << 5) /* extension/block.h */
#define QUENCH_MAKES_LINEAR_OP (1u << 6)    /* the result is an op, not a weight */
/* Rows from another state of the model than the default (everything before is quantized). At most
 * one of SEQUENTIAL, BLOCK_ROWS, FLOAT_ROWS. */
#define QUENCH_NEEDS_BLOCK_ROWS (1u << 7) /* earlier blocks quantized, this block still float */
#define QUENCH_NEEDS_FLOAT_ROWS (1u << 8) /* nothing quantized: the float model's rows */
/* Also quantizes the output head, with its input rows, after all blocks; it forms a group of its
 * own with block = the number of blocks, and its linear has role "head". Refused if the head is
 * tied to the embedding. */
#define QUENCH_QUANTIZES_HEAD (1u << 9)
/* Also quantizes the token embedding [vocabulary,width], before everything else and without rows,
 * whatever else is needed; role "embedding". */
#define QUENCH_QUANTIZES_EMBEDDING (1u << 10)
/* `quantize` also takes weight and dequantized weight in the memory of the group's device, where
 * the host then may leave them. Without it both are in host memory. */
#define QUENCH_TAKES_DEVICE_WEIGHTS (1u << 11)
/* The result of a block's first linear has an op on keys and values besides. Since 1.1. */
#define QUENCH_MAKES_CACHE_OP (1u << 12)

typedef struct quench_group_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint32_t block;
  uint32_t group;
  const quench_group_info* info; /* borrowed until `end` */
  int64_t in_features;
  quench_device device; /* of rows and weights */
} quench_group_args;

typedef struct quench_observe_args {
  uint32_t struct_size;
  uint32_t flags;         /* 0 */
  const quench_tensor* x; /* [N,in_features], float dtype of the model; N may vary */
  const quench_tensor* float_x;    /* same shape, rows of the float model, or NULL */
  const quench_tensor* row_index;  /* int64 [R], host memory: the rows that count; NULL: all */
  const quench_tensor* row_weight; /* float64 [R or N], host memory; NULL: all 1 */
  void* stream;
} quench_observe_args;

/* Receives a quantizer's results. Owned by the host, valid for the call. */
typedef struct quench_quantize_sink {
  uint32_t struct_size;
  void* context;
  /* Creates a host tensor called `name` and sets `view`, which the quantizer writes through until
   * the call returns. These names have a meaning for the host:
   *
   *   "codes"   uint8            [out,in]       integer codes, original column order
   *   "scales"  float64|float32  [out,groups]
   *   "zeros"   float64|float32  [out,groups]
   *   "g_idx"   int32            [in]           group of each input column
   *   "perm"    int32            [in]           perm[k]: the column that was quantized k-th
   *
   * A weight is then scales[:,g_idx] * (codes - zeros[:,g_idx]). A weight that is looked up in a
   * table has, instead of codes and zeros:
   *
   *   "indices" uint8            [out,in]       entries of the table
   *   "table"   float64|float32  [entries], or [out,entries] where each row has its own
   *   "scales"  float64|float32, or uint8 for powers of two, 2^(scale-127):
   *             [out,groups] with groups that divide a row, or [blocks] of as many consecutive
   *             weights in C order as the number "block" says, of which the last may have fewer
   *
   * It is then scales * table[indices]. Other tensors are kept unchanged.
   */
  quench_status (*tensor)(void* context, const char* name, quench_dtype dtype, int32_t dimensions,
                          const int64_t* shape /*: [dimensions] */,
                          quench_tensor* view /*: is out deferred view */,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* Records a number: "bits_per_weight" (with scales, zeros and order; required, but where a
   * table is given, which the host then counts with indices and scales as they are), "loss" (the
   * method's weighted sum of squared errors), "damp", "retries", "dead", ... Names that begin with
   * "seconds." are times: summed over linears and excluded from comparisons. */
  quench_status (*number)(void* context, const char* name, double value,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* Records a text: "fallback", ... */
  quench_status (*text)(void* context, const char* name, const char* value,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Sets the op that replaces the linear from now on; the host takes ownership. */
  quench_status (*linear_op)(void* context, const quench_linear_op* op /*: life owned */,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Sets the op on keys and values of the group's block (quench_group_args.block) from now on; the
   * host takes ownership. Only for a quantizer with QUENCH_MAKES_CACHE_OP, once for a block. */
  /*: optional; since 1.1 */
  quench_status (*cache_op)(void* context, const quench_cache_op* op /*: life owned */,
                            quench_error* error) QUENCH_NOEXCEPT;
} quench_quantize_sink;

/* The host reads no tensors that describe the result (codes, scales, ...), so they need not be put
 * into the sink. Only given to quantizers with QUENCH_TAKES_DEVICE_WEIGHTS. */
#define QUENCH_QUANTIZE_WITHOUT_CODES (1u << 0)

typedef struct quench_quantize_args {
  uint32_t struct_size;
  uint32_t flags;  /* QUENCH_QUANTIZE_* */
  uint32_t linear; /* index in the group */
  /* [out,in], float32, or float64 if the model runs in float64; read-only */
  const quench_tensor* weight;
  /* out: [out,in], dtype and device of `weight`: the dequantized weight. With a linear op it is read
   * only if the op has `inputs`: what these are multiplied by, which becomes the linear's weight
   * beside the op. */
  const quench_tensor* dequantized /*: out */;
  const quench_quantize_sink* sink;
  void* stream;
} quench_quantize_args;

/* The weights of all linears of a group. */
typedef struct quench_group_weights_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint32_t count; /* linears of the group */
  /* [count], each as and where `quantize` would get it; borrowed for the call */
  const quench_tensor* weights /*: [count] */;
  void* stream;
} quench_group_weights_args;

/* Rows are, and states would be, in the memory of a GPU. */
#define QUENCH_GROUP_ON_DEVICE (1u << 0)

typedef struct quench_group_memory_args {
  uint32_t struct_size;
  uint32_t flags;                /* QUENCH_GROUP_* */
  const quench_group_info* info; /* shapes of the group's linears; borrowed for the call */
  int64_t in_features;
  quench_dtype row_dtype;    /* of the rows that `observe` would get */
  quench_dtype weight_dtype; /* of the weights that `quantize` would get */
} quench_group_memory_args;

/* Bytes that one state of the group takes, each beside the others. Tensors of the sink count; the
 * weight and its dequantized counterpart, which are the host's, do not. */
typedef struct quench_group_memory {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  /* From the first row to `end`: statistics and buffers. 0 where no rows are observed. */
  uint64_t observing;
  /* From the first `quantize` to `end`: once, for all settings that share the state. */
  uint64_t shared;
  /* From its first `quantize` to `end`: of each setting that shares the state. */
  uint64_t each;
  /* During one call of `quantize`, for the linear that takes the most. */
  uint64_t linear;
} quench_group_memory;

typedef struct quench_model_editor quench_model_editor; /* kind/transform.h */

/* The parameter that holds rules for single modules, where a quantizer has `rule_fits`: a list of
 * strings whose first word is a pattern; `*` matches any run of characters and `?` one character. */
#define QUENCH_QUANTIZER_RULES "modules"

typedef struct quench_quantizer_table {
  uint32_t struct_size;

  /* `parameters_json` is an object with every parameter of the schema. The caller destroys the
   * instance. */
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_quantizer** quantizer,
                          quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*destroy)(quench_quantizer* quantizer) QUENCH_NOEXCEPT;

  /* Returns QUENCH_NEEDS_*, USES_*, MAKES_* and QUANTIZES_* bits for these parameters. */
  uint32_t (*needs)(const quench_quantizer* quantizer) QUENCH_NOEXCEPT;

  /* Starts a group. The caller ends the state, even after a later call has failed. */
  /*: keeps */
  quench_status (*begin)(quench_quantizer* quantizer, const quench_group_args* args,
                         quench_quantizer_state** state, quench_error* error) QUENCH_NOEXCEPT;
  /* Observes rows, which are borrowed for the call. Not called after the first `quantize` of the
   * state. */
  quench_status (*observe)(quench_quantizer* quantizer, quench_quantizer_state* state,
                           const quench_observe_args* args, quench_error* error) QUENCH_NOEXCEPT;
  /* Quantizes one linear. If it fails, the host discards what was put into the sink. NUMERICAL
   * names what is not finite or cannot be factorized. A method never falls back without recording
   * it in the sink. */
  quench_status (*quantize)(quench_quantizer* quantizer, quench_quantizer_state* state,
                            const quench_quantize_args* args, quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*end)(quench_quantizer* quantizer, quench_quantizer_state* state) QUENCH_NOEXCEPT;

  /* ---- Optional: may be NULL ----------------------------------------------------------------- */

  /* A group, for quantizers that use the Gram matrix of a group, G = Σ w·xxᵀ. One quantizer's
   * statistics can then serve another's group, and the host can ask for the error of any
   * quantizer's result. Gives a view of G, float64 or float32 [in,in], both triangles filled, valid
   * until `end`; `rows` = Σ w. */
  /*: optional group gram; life object */
  quench_status (*gram_get)(quench_quantizer* quantizer, quench_quantizer_state* state,
                            quench_tensor* gram, double* rows, quench_error* error) QUENCH_NOEXCEPT;
  /* Copies G from elsewhere, instead of observing rows. */
  /*: optional group gram */
  quench_status (*gram_set)(quench_quantizer* quantizer, quench_quantizer_state* state,
                            const quench_tensor* gram, double rows,
                            quench_error* error) QUENCH_NOEXCEPT;
  /* error = tr(ΔGΔᵀ), reference = tr(WGWᵀ), Δ = weight − dequantized: squared output errors summed
   * over the observed rows. */
  /*: optional group gram */
  quench_status (*output_error)(quench_quantizer* quantizer, quench_quantizer_state* state,
                                const quench_tensor* weight, const quench_tensor* dequantized,
                                double* squared_error, double* reference,
                                quench_error* error) QUENCH_NOEXCEPT;
  /* For quantizers whose statistics serve several settings: one pass, and one factorization per
   * group, then serve several bit widths. Returns 1 if a state that `other`, an instance of the
   * same item, has begun and filled with rows may be passed to `quantizer`'s `quantize` and the
   * functions below, with the same result as a state of its own; else 0. `other` ends the state and
   * must live as long as it. */
  /*: optional */
  int32_t (*accepts)(const quench_quantizer* quantizer,
                     const quench_quantizer* other) QUENCH_NOEXCEPT;
  /* For methods that decide for an input group as a whole (such as one channel scale for q, k and
   * v). Called once per state and per instance that quantizes on it, after the last row and before
   * that instance's first `quantize`. A quantizer that has it must also quantize linears of a state
   * without this call, each on its own. */
  /*: optional */
  quench_status (*prepare)(quench_quantizer* quantizer, quench_quantizer_state* state,
                           const quench_group_weights_args* args,
                           quench_error* error) QUENCH_NOEXCEPT;
  /* Returns 1 if the pattern of entry `rule` of QUENCH_QUANTIZER_RULES matches the linear called
   * `module` (quench_linear_info.name), regardless of earlier rules; else 0. The host refuses a
   * misspelled pattern with it before any work begins. */
  /*: optional */
  int32_t (*rule_fits)(const quench_quantizer* quantizer, uint64_t rule,
                       const char* module) QUENCH_NOEXCEPT;
  /* Fills `memory`, whose `struct_size` the caller has set, from the parameters and the shapes
   * alone; nothing has been begun. Small things may be left out. The host says with it what a pass
   * will take before it begins. */
  /*: optional */
  quench_status (*predict_memory)(const quench_quantizer* quantizer,
                                  const quench_group_memory_args* args,
                                  quench_group_memory* memory, quench_error* error) QUENCH_NOEXCEPT;
  /* A group, for quantizers that quantize the weights of a changed float model (a channel scale
   * folded into the preceding weights). Applies that change to the float model, for all groups that
   * this instance has quantized in its latest pass. The host checks with it that the scales are
   * folded correctly. */
  /*: optional group plan */
  quench_status (*apply_plan)(quench_quantizer* quantizer, const quench_model_editor* editor,
                              quench_error* error) QUENCH_NOEXCEPT;
  /* A pass begins: the change is that of its groups alone, and what earlier passes have left is
   * forgotten. */
  /*: optional group plan */
  void (*begin_pass)(quench_quantizer* quantizer) QUENCH_NOEXCEPT;
} quench_quantizer_table;

#ifdef __cplusplus
}
#endif
#endif
