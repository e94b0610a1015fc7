/* Kind "model": one family of decoder language models.
 *
 *   probe(config) -> open(source, config) -> info, parameters, blocks ->
 *   embed -> stage 0..S-1 of each block -> token_nll / logits            (any number of batches)
 *   weight_get / weight_set / set_linear_op between stages               -> close
 *
 * The stage protocol. A block's linears fall into input groups: linears that read the same tensor
 * (q,k,v; o; gate,up; down). A block with G groups is cut into stages at the inputs of its groups,
 * normally G+1:
 *
 *   stage 0:  h               -> h, x0        computes x0, the input of group 0 (after the norm)
 *   stage s:  h, x(s-1), ...  -> h, xs, ...   applies group s-1's linears, computes group s's input
 *   stage G:  h, x(G-1), ...  -> h            applies the last group's linears
 *
 * The host owns every tensor between stages. `carry` says which tensors enter a stage, so a family
 * can carry more than h and x (a parallel branch, a gate, routing decisions). A block's last stage
 * gives the residual stream alone, the input of the next block's stage 0. One pass over the stages
 * is one forward, so a sequential quantizer needs exactly one forward per block.
 *
 * Mixture of experts: the first linears of all experts read one carried tensor. Each expert is a
 * group with `expert` >= 0, whose `rows` names the carried int32 tensor with the destination of
 * each row. A token with k experts has k entries there, and k rows in the output of the first
 * linears. One stage feeds many groups; a group's `stage` says after which stage its input exists.
 *
 * Threads: unless a comment says otherwise, only one call per process at a time enters modules that
 * use libtorch [instance-serial]; modules without libtorch may run beside it.
 */
#ifndef QUENCH_ABI_KIND_MODEL_H
#define QUENCH_ABI_KIND_MODEL_H

#include "quench/abi/host.h"
#include "quench/abi/source.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_MODEL "model"

typedef struct quench_model quench_model; /* an open model; the plugin's own type */

/* ---- Descriptions: all pointers in them are valid until the model is closed ------------------ */

typedef struct quench_model_info {
  uint32_t struct_size;
  uint32_t blocks;       /* decoder blocks */
  int64_t width;         /* of the residual stream, elements per token */
  int64_t vocabulary;    /* rows of the output head's weight */
  int64_t max_positions; /* longest sequence that the config allows */
  quench_dtype dtype;    /* of weights and of the residual stream */
  quench_device device;
} quench_model_info;

#define QUENCH_ROLE_MATRIX 1    /* weight of a hidden linear */
#define QUENCH_ROLE_EMBEDDING 2 /* token or position embedding */
#define QUENCH_ROLE_HEAD 3      /* output head */
#define QUENCH_ROLE_NORM 4      /* scale or shift of a norm */
#define QUENCH_ROLE_BIAS 5
#define QUENCH_ROLE_OTHER 6

/* One trainable tensor. Tensors in this order, tied ones once, form the flat parameter vector in
 * which gradients, Hessian products and search directions cross the border. */
typedef struct quench_parameter_info {
  uint32_t struct_size;
  int32_t role;     /* QUENCH_ROLE_* */
  const char* name; /* as in the family's files */
  int32_t dimensions;
  const int64_t* shape;
  uint64_t offset; /* of element 0 in the flat vector, in elements */
  /* other names of this tensor in files and calls (tied weights) */
  uint32_t alias_count;
  const char* const* aliases;
} quench_parameter_info;

#define QUENCH_LINEAR_HAS_BIAS 1u

typedef struct quench_linear_info {
  uint32_t struct_size;
  uint32_t flags;   /* QUENCH_LINEAR_* */
  const char* name; /* module name: "gpt_neox.layers.0.attention.dense" */
  /* "qkv", "q", "k", "v", "o", "gate", "up", "down", "gate_up", or the family's own */
  const char* role;
  const char* weight; /* parameter name; the weight is [out_features, in_features], C order */
  const char* bias;   /* parameter name or NULL */
  int64_t out_features;
  int64_t in_features;
} quench_linear_info;

/* A tensor that absorbs a per-input-channel scale s of a group: `parameter` is divided by s along
 * its first axis, where row rows[c] belongs to channel c (NULL: row c). A group without sites
 * cannot absorb a scale. */
typedef struct quench_scale_site {
  uint32_t struct_size;
  const char* parameter;
  const int64_t* rows; /* [in_features of the group] or NULL */
} quench_scale_site;

typedef struct quench_group_info {
  uint32_t struct_size;
  uint32_t stage; /* the group's input exists after this stage */
  int32_t input;  /* index, among the tensors carried out of `stage`, of the linears' input */
  int32_t rows;   /* carried int32 [M*k,1] tensor, the expert of each of the M rows; -1: all */
  int32_t expert; /* entry i belongs to row i/k; rows with this expert count; -1 with `rows` -1 */
  uint32_t linear_count;
  const quench_linear_info* linears; /* [linear_count] */
  uint32_t site_count;
  const quench_scale_site* sites; /* together they absorb the scale */
} quench_group_info;

typedef struct quench_carry_info {
  uint32_t struct_size;
  const char* name;       /* "h", "x", or the family's own */
  int64_t width;          /* elements per row */
  int64_t rows_per_token; /* 1, or k for routed tensors with k rows per token */
  quench_dtype dtype;
} quench_carry_info;

typedef struct quench_block_info {
  uint32_t struct_size;
  uint32_t stage_count;
  uint32_t group_count;
  const quench_group_info* groups; /* in the order in which they are quantized */
} quench_block_info;

/* ---- Argument blocks ------------------------------------------------------------------------- */

typedef struct quench_model_open_args {
  uint32_t struct_size;
  uint32_t flags;              /* QUENCH_OPEN_* (extension/initialize.h, extension/shapes.h) */
  const quench_source* source; /* borrowed for the call; the model copies what it keeps */
  const char* config_json;     /* text of config.json */
  uint64_t config_bytes;
  quench_device device;
  quench_dtype dtype; /* weights are converted to it */
} quench_model_open_args;

/* A batch of B rows of T tokens, N = B*T. Attention is causal within a row. */
typedef struct quench_batch {
  uint32_t struct_size;
  uint32_t flags;              /* 0 */
  const quench_tensor* tokens; /* int32 [B,T], host memory */
  /* int32 [B,T], host memory, or NULL: 0..T-1 in each row */
  const quench_tensor* positions;
  /* int32 [B,T], host memory, or NULL: all 0. A token sees the earlier tokens of its row in segment
   * 0 and in its own segment. -1 marks padding, which sees only itself and is seen by no other
   * token. Packed documents are segments 1,2,...; a shared prefix with alternatives is segment 0
   * followed by segments 1,2,... (extension/pads.h adds -2.) */
  const quench_tensor* segments;
} quench_batch;

typedef struct quench_embed_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  const quench_batch* batch;
  const quench_tensor* h; /* out: [N,width], residual stream */
  void* stream;           /* of the device; NULL on the CPU and for the default stream */
} quench_embed_args;

typedef struct quench_stage_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint32_t block;
  uint32_t stage;
  const quench_batch* batch;
  uint32_t in_count;
  uint32_t out_count;
  /* [in_count], each [N*rows_per_token, width], as described by carry(block, stage) */
  const quench_tensor* in;
  /* out: [out_count], as described by carry(block, stage+1); overwritten. A tensor of `out` either
   * has the same storage as the tensor of `in` with the same name, or overlaps none. */
  const quench_tensor* out;
  void* stream;
} quench_stage_args;

typedef struct quench_head_args {
  uint32_t struct_size;
  uint32_t flags;               /* 0 */
  const quench_tensor* h;       /* [N,width]: residual stream after the last block */
  const quench_tensor* targets; /* int32 [N] or [B,T], host memory; -1: not scored */
  /* out: float64 [N], host memory: -log p(target) in nats, 0 if not scored. The logits of a whole
   * batch never exist at once. */
  const quench_tensor* nll;
  /* out: int32 [N], host memory, or NULL: the most likely id, the lowest on ties */
  const quench_tensor* argmax;
  void* stream;
} quench_head_args;

/* Replaces x·Wᵀ of one linear, for methods that also quantize activations. The model still adds the
 * bias. */
typedef struct quench_linear_op {
  uint32_t struct_size;
  void* context;
  /* y[N,out] = op(x[N,in]); both have the model's dtype and device. */
  quench_status (*apply)(void* context, const quench_tensor* x, const quench_tensor* y,
                         void* stream, quench_error* error) QUENCH_NOEXCEPT;
  /* The last owner of the op calls this. */
  void (*release)(void* context) QUENCH_NOEXCEPT;
} quench_linear_op;

/* ---- The table ------------------------------------------------------------------------------- */

typedef struct quench_model_table {
  uint32_t struct_size;

  /* How well this family fits a config.json. 100: `model_type` is its own. 0: no match, or its own
   * type with a setting that `error` refuses. -1..-99: another type; lower is nearer, and `error`
   * says what differs. Reads nothing else. [thread-safe] */
  int32_t (*probe)(const char* config_json, uint64_t config_bytes,
                   quench_error* error) QUENCH_NOEXCEPT;

  /* Opens a model: reads the config and every tensor it needs from the source. Fails with the names
   * of missing tensors, wrong shapes, unexpected tensors (except known legacy buffers) and unknown
   * config keys that could change the mathematics. The caller closes the model. */
  quench_status (*open)(const quench_model_open_args* args, quench_model** model,
                        quench_error* error) QUENCH_NOEXCEPT;
  void (*close)(quench_model* model) QUENCH_NOEXCEPT;

  /* Descriptions; the returned pointers are valid until `close`. */
  quench_status (*info)(const quench_model* model, quench_model_info* info,
                        quench_error* error) QUENCH_NOEXCEPT;
  quench_status (*parameters)(const quench_model* model, const quench_parameter_info** parameters,
                              uint64_t* count, quench_error* error) QUENCH_NOEXCEPT;
  quench_status (*block)(const quench_model* model, uint32_t block, const quench_block_info** info,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* The tensors that enter `stage` of `block`; stage = stage_count gives those that leave the
   * block. Tensor 0 is always the residual stream. */
  quench_status (*carry)(const quench_model* model, uint32_t block, uint32_t stage,
                         const quench_carry_info** tensors, uint32_t* count,
                         quench_error* error) QUENCH_NOEXCEPT;

  /* Memory on the model's device for the tensors between stages. Both are NULL for a family that
   * runs in host memory, which the host then provides. RESOURCE_EXHAUSTED says how many bytes were
   * requested. */
  quench_status (*allocate)(quench_model* model, uint64_t bytes, void** memory,
                            quench_error* error) QUENCH_NOEXCEPT;
  void (*release)(quench_model* model, void* memory) QUENCH_NOEXCEPT;
  /* Copies between views of equal shape and dtype, each of which may be on the device; returns when
   * the copy is complete. NULL if allocate is NULL. */
  quench_status (*copy)(quench_model* model, const quench_tensor* from, const quench_tensor* to,
                        void* stream, quench_error* error) QUENCH_NOEXCEPT;

  /* The forward. INVALID_ARGUMENT names a wrong shape, an id outside the vocabulary, or a position
   * outside the table. */
  quench_status (*embed)(quench_model* model, const quench_embed_args* args,
                         quench_error* error) QUENCH_NOEXCEPT;
  quench_status (*stage)(quench_model* model, const quench_stage_args* args,
                         quench_error* error) QUENCH_NOEXCEPT;
  quench_status (*token_nll)(quench_model* model, const quench_head_args* args,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Final norm and output head for a few rows: h [R,width] -> logits [R,vocabulary], both with the
   * model's dtype and device. */
  quench_status (*logits)(quench_model* model, const quench_tensor* h, const quench_tensor* logits,
                          void* stream, quench_error* error) QUENCH_NOEXCEPT;

  /* Copies parameter `name` (or an alias) to `destination`, which has the same shape and any float
   * dtype, on the host or the device. */
  quench_status (*weight_get)(quench_model* model, const char* name,
                              const quench_tensor* destination,
                              quench_error* error) QUENCH_NOEXCEPT;
  /* Overwrites parameter `name` with `value` of any float dtype, rounding once. Tied names change
   * together. Increments the parameter's generation. */
  quench_status (*weight_set)(quench_model* model, const char* name, const quench_tensor* value,
                              quench_error* error) QUENCH_NOEXCEPT;
  /* Counts how often `name` was set since `open`, so that a caller knows whether to restore it. */
  quench_status (*weight_generation)(const quench_model* model, const char* name,
                                     uint64_t* generation, quench_error* error) QUENCH_NOEXCEPT;

  /* Replaces linear `linear` of group `group` by `op` and takes ownership of it; NULL restores the
   * weight. */
  quench_status (*set_linear_op)(quench_model* model, uint32_t block, uint32_t group,
                                 uint32_t linear, const quench_linear_op* op,
                                 quench_error* error) QUENCH_NOEXCEPT;

  /* Returns the table of an extension (extension/ or third-party), or NULL. */
  const void* (*extension)(const quench_model* model, const char* id) QUENCH_NOEXCEPT;
} quench_model_table;

#ifdef __cplusplus
}
#endif
#endif
