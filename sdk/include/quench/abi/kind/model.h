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
  const int64_t* shape /*: [dimensions] */;
  uint64_t offset; /* of element 0 in the flat vector, in elements */
  /* other names of this tensor in files and calls (tied weights) */
  uint32_t alias_count;
  const char* const* aliases /*: [alias_count] */;
} quench_parameter_info;

#define QUENCH_LINEAR_HAS_BIAS 1u

typedef struct quench_linear_info {
  uint32_t struct_size;
  uint32_t flags;   /* QUENCH_LINEAR_* */
  const char* name; /* module name: "gpt_neox.layers.0.attention.dense" */
  /* "qkv", "q", "k", "v", "o", "gate", "up", "down", "gate_up", or the family's own */
  const char* role;
  const char* weight; /* parameter name; the weight is [out_features, in_features], C order */
  const char* bias /*: null */;   /* parameter name or NULL */
  int64_t out_features;
  int64_t in_features;
} quench_linear_info;

/* A tensor that absorbs a per-input-channel scale s of a group: `parameter` is divided by s along
 * its first axis, where row rows[c] belongs to channel c (NULL: row c). A group without sites
 * cannot absorb a scale. */
typedef struct quench_scale_site {
  uint32_t struct_size;
  const char* parameter;
  /* [in_features of the group] or NULL */
  const int64_t* rows /*: [^linears[0].in_features]; null */;
} quench_scale_site;

typedef struct quench_group_info {
  uint32_t struct_size;
  uint32_t stage; /* the group's input exists after this stage */
  int32_t input;  /* index, among the tensors carried out of `stage`, of the linears' input */
  int32_t rows;   /* carried int32 [M*k,1] tensor, the expert of each of the M rows; -1: all */
  int32_t expert; /* entry i belongs to row i/k; rows with this expert count; -1 with `rows` -1 */
  uint32_t linear_count;
  const quench_linear_info* linears /*: [linear_count] */;
  uint32_t site_count;
  const quench_scale_site* sites /*: [site_count] */; /* together they absorb the scale */
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
  /* in the order in which they are quantized */
  const quench_group_info* groups /*: [group_count] */;
} quench_block_info;

/* The weights that write and read the residual stream, so that an orthogonal matrix can be inserted
 * between them. The lists are complete: nothing else in the model reads or writes the stream. Every
 * writer adds its weight's output rows to the stream unchanged (or is the token embedding). Every
 * reader is a linear whose input is a norm of the stream. */

/* x / rms(x): commutes with any orthogonal matrix. */
#define QUENCH_NORM_ROOT_MEAN_SQUARE 1
/* Subtracts the mean of x first: commutes only with matrices that map (1,...,1) to itself. */
#define QUENCH_NORM_CENTERED 2

typedef struct quench_residual_norm {
  uint32_t struct_size;
  int32_t kind;      /* QUENCH_NORM_* */
  /* parameter [width] that multiplies the normalized value, or NULL */
  const char* scale /*: null */;
  const char* shift /*: null */; /* parameter [width] that is added afterwards, or NULL */
  uint32_t reader_count;
  /* weights [out,width] that multiply its output */
  const char* const* readers /*: [reader_count] */;
} quench_residual_norm;

typedef struct quench_residual_writer {
  uint32_t struct_size;
  int32_t axis;       /* the weight's axis along the stream: 0 for [width,in], 1 for an embedding */
  const char* weight; /* parameter, two-dimensional */
  const char* bias /*: null */;   /* parameter [width], or NULL */
} quench_residual_writer;

/* A tied output head is both a reader and a writer: its name is in both lists. */
typedef struct quench_residual_info {
  uint32_t struct_size;
  uint32_t norm_count;
  const quench_residual_norm* norms /*: [norm_count] */;
  uint32_t writer_count;
  const quench_residual_writer* writers /*: [writer_count] */;
} quench_residual_info;

/* ---- Argument blocks ------------------------------------------------------------------------- */

/* `source` is NULL, and the weights are drawn by the family's own rule (that of its reference
 * implementation, such as `initializer_range` of the config), for training from scratch. The
 * numbers come from the random service; a parameter's stream is "init/" and its name, so they are
 * the same for a seed on every machine and for any number of threads. Drawn in float64 and rounded
 * once to the model's dtype. UNSUPPORTED if the family has no such rule. */
#define QUENCH_OPEN_INITIALIZE 1u
/* The caller will only use info, parameters, block, carry, features, extension and close. `source`
 * holds no tensors and must not be read, and memory for weights must not be touched, so opening
 * costs no more than reading the config. A family that does not know the flag fails as it would for
 * missing tensors; the host then does without. */
#define QUENCH_OPEN_SHAPES 2u

typedef struct quench_model_open_args {
  uint32_t struct_size;
  uint32_t flags;              /* QUENCH_OPEN_* */
  const quench_source* source; /* borrowed for the call; the model copies what it keeps */
  const char* config_json;     /* text of config.json */
  uint64_t config_bytes;
  quench_device device;
  quench_dtype dtype; /* weights are converted to it */
} quench_model_open_args;

/* A value of quench_batch.segments: a pad that sees the earlier tokens of its row in segment 0 and
 * nothing else, not even itself, and that no token sees, as in batches of published calibrations:
 * its rows count in what quantizers observe. INVALID_ARGUMENT if none precedes it. */
#define QUENCH_SEGMENT_ATTENDING_PADDING (-2)
/* Of `features`: the family takes such pads. */
#define QUENCH_MODEL_TAKES_ATTENDING_PADDING (1u << 0)

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
   * followed by segments 1,2,... QUENCH_SEGMENT_ATTENDING_PADDING: for families that have it. */
  const quench_tensor* segments;
} quench_batch;

typedef struct quench_embed_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  const quench_batch* batch;
  const quench_tensor* h /*: out */; /* out: [N,width], residual stream */
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
  const quench_tensor* in /*: [in_count] */;
  /* out: [out_count], as described by carry(block, stage+1); overwritten. A tensor of `out` either
   * has the same storage as the tensor of `in` with the same name, or overlaps none. */
  const quench_tensor* out /*: out; [out_count] */;
  void* stream;
} quench_stage_args;

typedef struct quench_head_args {
  uint32_t struct_size;
  uint32_t flags;               /* 0 */
  const quench_tensor* h;       /* [N,width]: residual stream after the last block */
  const quench_tensor* targets; /* int32 [N] or [B,T], host memory; -1: not scored */
  /* out: float64 [N], host memory: -log p(target) in nats, 0 if not scored. The logits of a whole
   * batch never exist at once. */
  const quench_tensor* nll /*: out */;
  /* out: int32 [N], host memory, or NULL: the most likely id, the lowest on ties */
  const quench_tensor* argmax /*: out */;
  void* stream;
} quench_head_args;

/* Replaces x·Wᵀ of one linear, for methods that also quantize activations. The model still adds the
 * bias. */
typedef struct quench_linear_op {
  uint32_t struct_size;
  void* context;
  /* y[N,out] = op(x[N,in]); both have the model's dtype and device. */
  quench_status (*apply)(void* context, const quench_tensor* x, const quench_tensor* y /*: out */,
                         void* stream, quench_error* error) QUENCH_NOEXCEPT;
  /* The last owner of the op calls this. */
  void (*release)(void* context) QUENCH_NOEXCEPT;
  /* What `apply` multiplies, for derivatives: rounded[N,in], of x's dtype and device, with which
   * apply(x) is rounded·Ŵᵀ up to the rounding of arithmetic. Ŵ is the linear's weight while the op
   * is set (quench_quantize_args.dequantized). A family that differentiates computes that product,
   * with the identity as the derivative of `rounded` by x. */
  /*: optional; since 1.1 */
  quench_status (*inputs)(void* context, const quench_tensor* x,
                          const quench_tensor* rounded /*: out */, void* stream,
                          quench_error* error) QUENCH_NOEXCEPT;
} quench_linear_op;

/* Keys and values of a block, after their rotation by position and before any token reads them. */
typedef struct quench_cache_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  /* [N,heads,width], the model's dtype and device, contiguous: each head once, however many heads
   * of queries read it */
  const quench_tensor* keys /*: inout */;
  const quench_tensor* values /*: inout */; /* the same shape but for the width */
  const quench_batch* batch; /* that of the stage: where rows and segments begin */
  void* stream;
} quench_cache_args;

/* Changes what a block keeps of each token for the tokens after it, for methods that quantize keys
 * and values. A token reads its own as changed, too. A family that differentiates takes the
 * identity as the derivative of the change. Since 1.1. */
typedef struct quench_cache_op {
  uint32_t struct_size;
  void* context;
  /* Changes keys and values in place. What becomes of a sequence must not depend on the other
   * sequences of the batch. */
  quench_status (*apply)(void* context, const quench_cache_args* args,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* The last owner of the op calls this. */
  void (*release)(void* context) QUENCH_NOEXCEPT;
} quench_cache_op;

/* A loss as a function of one block's weights. Since 1.1. */
typedef struct quench_block_gradient_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint32_t block;
  uint32_t weight_count;
  const quench_batch* batch;
  const quench_tensor* h; /* [N,width]: what enters stage 0; the model's dtype and device */
  /* One of both, [N,width], dtype and device as h; `output` is what the block gives. */
  const quench_tensor* target /*: null */; /* loss = Σ (output - target)² */
  const quench_tensor* slope /*: null */;  /* loss = Σ slope * output, so dloss/doutput = slope */
  double weight; /* factor on what is added to a gradient */
  /* Weights of the block's linears (quench_linear_info.weight), each once. */
  const char* const* names /*: [weight_count] */;
  /* Each of its weight's shape, in the dtype of flat vectors (extension/gradients.h), in host
   * memory or on the model's device. */
  const quench_tensor* gradients /*: inout; [weight_count] */;
  void* stream;
} quench_block_gradient_args;

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
  /*: closes */
  void (*close)(quench_model* model) QUENCH_NOEXCEPT;

  /* Descriptions; the returned pointers are valid until `close`. */
  /*: life object */
  quench_status (*info)(const quench_model* model, quench_model_info* info,
                        quench_error* error) QUENCH_NOEXCEPT;
  /*: life object */
  quench_status (*parameters)(const quench_model* model,
                              const quench_parameter_info** parameters /*: [count] */,
                              uint64_t* count, quench_error* error) QUENCH_NOEXCEPT;
  /*: life object */
  quench_status (*block)(const quench_model* model, uint32_t block, const quench_block_info** info,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* The tensors that enter `stage` of `block`; stage = stage_count gives those that leave the
   * block. Tensor 0 is always the residual stream. */
  /*: life object */
  quench_status (*carry)(const quench_model* model, uint32_t block, uint32_t stage,
                         const quench_carry_info** tensors /*: [count] */, uint32_t* count,
                         quench_error* error) QUENCH_NOEXCEPT;

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
  quench_status (*logits)(quench_model* model, const quench_tensor* h,
                          const quench_tensor* logits /*: out */,
                          void* stream, quench_error* error) QUENCH_NOEXCEPT;

  /* Copies parameter `name` (or an alias) to `destination`, which has the same shape and any float
   * dtype, on the host or the device. */
  quench_status (*weight_get)(quench_model* model, const char* name,
                              const quench_tensor* destination /*: out */,
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
                                 uint32_t linear,
                                 const quench_linear_op* op /*: life owned; null */,
                                 quench_error* error) QUENCH_NOEXCEPT;

  /* ---- Optional: may be NULL ----------------------------------------------------------------- */

  /* A group: memory on the model's device for the tensors between stages. NULL for a
   * family that runs in host memory, which the host then provides. RESOURCE_EXHAUSTED says how many
   * bytes were requested. */
  /*: optional group memory; local device memory stays in the process of the family */
  quench_status (*allocate)(quench_model* model, uint64_t bytes, void** memory,
                            quench_error* error) QUENCH_NOEXCEPT;
  /*: optional group memory; local device memory stays in the process of the family */
  void (*release)(quench_model* model, void* memory) QUENCH_NOEXCEPT;
  /* Copies between views of equal shape and dtype, each of which may be on the device; returns when
   * the copy is complete. */
  /*: optional group memory; local device memory stays in the process of the family */
  quench_status (*copy)(quench_model* model, const quench_tensor* from, const quench_tensor* to,
                        void* stream, quench_error* error) QUENCH_NOEXCEPT;
  /* Returns QUENCH_MODEL_* bits; NULL: none. [thread-safe] */
  /*: optional */
  uint32_t (*features)(const quench_model* model) QUENCH_NOEXCEPT;
  /* For passes that need only some tokens of the last block. Returns the first stage of `block` from
   * which on, in this and all later stages, the output for a token depends only on the input for
   * that token, not on other tokens or its position: normally the stage after attention;
   * stage_count if there is none. A caller may run these stages on any subset of the tokens, as a
   * batch [M,1] of their ids without positions and segments. [thread-safe] */
  /*: optional */
  uint32_t (*token_wise_from)(const quench_model* model, uint32_t block) QUENCH_NOEXCEPT;
  /* For methods that quantize the output head with data. Maps h [R,width], the residual stream
   * after the last block, to x [R,width], the rows that the head's weight multiplies (the final norm
   * of h). Both have the model's dtype and device. UNSUPPORTED if the family does not show them. */
  /*: optional */
  quench_status (*head_rows)(quench_model* model, const quench_tensor* h,
                             const quench_tensor* x /*: out */,
                             void* stream, quench_error* error) QUENCH_NOEXCEPT;
  /* For transforms of the residual stream. `info` lives as long as the model. UNSUPPORTED with the
   * reason if there is no such list, for example because a norm with weights lies between a branch
   * and the stream. */
  /*: optional; life object */
  quench_status (*residual)(const quench_model* model, const quench_residual_info** info,
                            quench_error* error) QUENCH_NOEXCEPT;
  /* Measures floating-point operations per second for a product of two large matrices on the
   * model's device, with the run's threads, the way the model does it: the best of several, in about
   * a quarter of a second. `flags` are QUENCH_LOSS_* (extension/gradients.h), which set the element
   * type of a training's products. UNSUPPORTED if the family does not measure. */
  /*: optional */
  quench_status (*product_rate)(quench_model* model, uint32_t flags, double* operations_per_second,
                                quench_error* error) QUENCH_NOEXCEPT;
  /* The table of an extension (extension/, or a third party's) for this model, or NULL. */
  /*: optional */
  const void* (*extension)(const quench_model* model, const char* id) QUENCH_NOEXCEPT;
  /* Applies `op` to keys and values of `block` from now on and takes ownership of it; NULL takes it
   * out. UNSUPPORTED, with nothing changed, for a block that keeps neither. */
  /*: optional; since 1.1 */
  quench_status (*set_cache_op)(quench_model* model, uint32_t block,
                                const quench_cache_op* op /*: life owned; null */,
                                quench_error* error) QUENCH_NOEXCEPT;
  /* For methods that change weights so that a block's output comes near a wanted one. Adds weight *
   * dloss/dW of the named weights to their gradients, at the weights that the model holds, and
   * gives the loss, accumulated in float64. Runs one forward and one backward of the block alone.
   * UNSUPPORTED while an op is set in the block, because an op has no derivative. Results do not
   * depend on the number of threads. [instance-serial] */
  /*: optional; since 1.1 */
  quench_status (*block_gradient)(quench_model* model, const quench_block_gradient_args* args,
                                  double* loss, quench_error* error) QUENCH_NOEXCEPT;
} quench_model_table;

#ifdef __cplusplus
}
#endif
#endif
