/* Kind "metric": measures a model. The host opens corpora, tokenizes, and runs forwards.
 * [instance-serial]
 */
#ifndef QUENCH_ABI_KIND_METRIC_H
#define QUENCH_ABI_KIND_METRIC_H

#include "quench/abi/host.h"
#include "quench/abi/kind/model.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_METRIC "metric"

typedef struct quench_metric quench_metric;

/* A tokenized corpus: what a parameter of type QUENCH_PARAMETER_CORPUS names. Valid for the call.
 */
typedef struct quench_tokens {
  uint32_t struct_size;
  const char* parameter; /* name of the metric's parameter */
  const char* corpus;    /* name in the manifest, or the file */
  uint64_t documents;
  const int32_t* ids;      /* all documents, one after the other */
  const uint64_t* offsets; /* [documents+1]: document d is ids[offsets[d] .. offsets[d+1]) */
  /* [documents] UTF-8 bytes of each document, or NULL where ids came as ids */
  const uint64_t* bytes;
} quench_tokens;

/* Sequences to score. Row b is ids[starts[b] .. starts[b+1]), its own context from position 0;
 * position t is scored against the id that follows it in the row when it lies in the row's scored
 * range, that is, scored_from[b] <= t+1 < length (scored_from NULL: 1, everything but the first
 * id). */
typedef struct quench_score_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint64_t rows;
  const int32_t* ids;
  const uint64_t* starts;      /* [rows+1] */
  const uint64_t* scored_from; /* [rows] or NULL */
  /* out, [starts[rows]], indexed like ids: nll[i] = -log p(ids[i] | ids before it in the row) in
   * nats, 0 where not scored. */
  double* nll;
  int32_t* argmax; /* out, like nll: the most likely id at that place, or NULL */
  /* [rows] or NULL: -1, or the row (smaller than b) whose ids come before those of row b, and so
   * on up to a row without one: alternatives after a shared prefix, which goes through the model
   * once. Positions count on from the parent's last. With a parent the first id of a row is scored
   * too, where scored_from[b] is 0. */
  const int64_t* parents;
} quench_score_args;

/* The model under measurement, as the host shows it. */
typedef struct quench_subject {
  uint32_t struct_size;
  /* The host's own table in front of the model: same layout, every call allowed but open, close,
   * probe. */
  const quench_model_table* table;
  quench_model* model;
  void* context;
  /* One forward of all rows, one block of the model at a time, micro-batched by a rule of shapes.
   */
  quench_status (*score)(void* context, const quench_score_args* args,
                         quench_error* error) QUENCH_NOEXCEPT;
} quench_subject;

#define QUENCH_LOWER_IS_BETTER -1
#define QUENCH_NO_DIRECTION 0
#define QUENCH_HIGHER_IS_BETTER 1

typedef struct quench_metric_sink {
  uint32_t struct_size;
  void* context;
  /* The value of the record. The first call names the metric's main value; further ones become
   * records of their own, "<id>/<name>". `standard_error` is NaN where there is none. */
  quench_status (*value)(void* context, const char* name, double value, const char* unit,
                         int32_t direction, double standard_error,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* A further number of the record's `details`. */
  quench_status (*detail)(void* context, const char* name, double value,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* One value per item (block, question, token) for paired comparisons with another model's; same
   * length and order for equal inputs. */
  quench_status (*items)(void* context, const char* name, const double* values, uint64_t count,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* Any further detail, as JSON text; merged into `details` under `name`. */
  quench_status (*json)(void* context, const char* name, const char* text, uint64_t bytes,
                        quench_error* error) QUENCH_NOEXCEPT;
} quench_metric_sink;

/* The tokenizer of the checkpoint or of the manifest. Valid for the call of `evaluate`. */
typedef struct quench_tokenizer {
  uint32_t struct_size;
  void* context;
  /* Ids of a text in UTF-8; `special` 1 adds what the tokenizer's post-processor adds (a BOS, say).
   * `*ids` is valid until the next call. */
  quench_status (*encode)(void* context, const char* text, uint64_t bytes, int32_t special,
                          const int32_t** ids, uint64_t* count,
                          quench_error* error) QUENCH_NOEXCEPT;
} quench_tokenizer;

/* Further weights of the same architecture that the metric asked for by `needs`. */
typedef struct quench_weights {
  uint32_t struct_size;
  const char* name;   /* "float", or the revision of a checkpoint */
  const char* branch; /* of the trajectory, or "" */
  double step;        /* NaN where unknown */
  double tokens;      /* NaN where unknown */
  /* Tensors under the names of quench_model_table.parameters (or an alias), as they are stored. */
  const quench_source* source;
} quench_weights;

#define QUENCH_METRIC_NEEDS_FLOAT 1u /* weights[0] "float": those before quantization */
/* All checkpoints of the subject's branch, in order; the metric runs once a branch, and the subject
 * is its last checkpoint. */
#define QUENCH_METRIC_NEEDS_TRAJECTORY 2u
#define QUENCH_METRIC_NEEDS_TOKENIZER 4u

typedef struct quench_evaluate_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  const quench_subject* subject;
  uint32_t tokens_count;
  const quench_tokens* tokens; /* one for each corpus parameter of the schema that is set */
  const quench_metric_sink* sink;
  const quench_tokenizer* tokenizer; /* NULL where there is none */
  uint32_t weights_count;
  const quench_weights* weights; /* as `needs` says */
} quench_evaluate_args;

typedef struct quench_metric_table {
  uint32_t struct_size;
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_metric** metric,
                          quench_error* error) QUENCH_NOEXCEPT;
  void (*destroy)(quench_metric* metric) QUENCH_NOEXCEPT;
  /* Measures. May be called again for another model. */
  quench_status (*evaluate)(quench_metric* metric, const quench_evaluate_args* args,
                            quench_error* error) QUENCH_NOEXCEPT;
  const void* (*extension)(const quench_metric* metric, const char* id) QUENCH_NOEXCEPT;
  /* QUENCH_METRIC_NEEDS_* of these parameters; NULL: nothing. */
  uint32_t (*needs)(const quench_metric* metric) QUENCH_NOEXCEPT;
} quench_metric_table;

#ifdef __cplusplus
}
#endif
#endif
