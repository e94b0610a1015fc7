/* Kind "metric": measures a model. The host opens corpora, tokenizes them and runs the forwards.
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

/* A tokenized corpus, named by a parameter of type QUENCH_PARAMETER_CORPUS. Valid for the call.
 */
typedef struct quench_tokens {
  uint32_t struct_size;
  const char* parameter; /* name of the metric's parameter */
  const char* corpus;    /* name in the manifest, or the file */
  uint64_t documents;
  const int32_t* ids;      /* all documents, one after the other */
  const uint64_t* offsets; /* [documents+1]: document d is ids[offsets[d] .. offsets[d+1]) */
  /* [documents] UTF-8 bytes of each document, or NULL if the corpus has ids only */
  const uint64_t* bytes;
} quench_tokens;

/* Sequences to score. Row b is ids[starts[b] .. starts[b+1]), its own context from
 * position 0. Position t predicts the id at t+1 of the row. That id is scored if
 * scored_from[b] <= t+1 < length (scored_from NULL means 1: every id except the
 * first). */
typedef struct quench_score_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint64_t rows;
  const int32_t* ids;
  const uint64_t* starts;      /* [rows+1] */
  const uint64_t* scored_from; /* [rows] or NULL */
  /* out, [starts[rows]], indexed like ids: nll[i] = -log p(ids[i] | ids before it in the row) in
   * nats; 0 if not scored. */
  double* nll;
  int32_t* argmax; /* out, indexed like nll: the most likely id there; or NULL */
  /* [rows] or NULL: -1, or the parent row (smaller than b) whose ids precede those of row b, and so
   * on up to a row without a parent. Alternatives after a shared prefix run the prefix once.
   * Positions continue after the parent's last. The first id of a row with a parent is also scored
   * if scored_from[b] is 0. */
  const int64_t* parents;
} quench_score_args;

/* The model under measurement, as the host presents it. */
typedef struct quench_subject {
  uint32_t struct_size;
  /* The host's own table in front of the model. Same layout; every call is allowed except open,
   * close and probe. */
  const quench_model_table* table;
  quench_model* model;
  void* context;
  /* Runs one forward of all rows, block by block, in micro-batches that depend only on shapes.
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
  /* Writes a value of the record. The first call sets the metric's main value; later ones become
   * records of their own, "<id>/<name>". `standard_error` is NaN if there is none. */
  quench_status (*value)(void* context, const char* name, double value, const char* unit,
                         int32_t direction, double standard_error,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* Writes a number into the record's `details`. */
  quench_status (*detail)(void* context, const char* name, double value,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* Writes one value per item (block, question, token) for paired comparisons with another model.
   * Length and order are the same for equal inputs. */
  quench_status (*items)(void* context, const char* name, const double* values, uint64_t count,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* Writes JSON text into the record's `details` under `name`. */
  quench_status (*json)(void* context, const char* name, const char* text, uint64_t bytes,
                        quench_error* error) QUENCH_NOEXCEPT;
} quench_metric_sink;

/* The tokenizer of the checkpoint or the manifest. Valid during `evaluate`. */
typedef struct quench_tokenizer {
  uint32_t struct_size;
  void* context;
  /* Encodes UTF-8 text. `special` 1 adds what the tokenizer's post-processor adds (such as a BOS).
   * `*ids` is valid until the next call. */
  quench_status (*encode)(void* context, const char* text, uint64_t bytes, int32_t special,
                          const int32_t** ids, uint64_t* count,
                          quench_error* error) QUENCH_NOEXCEPT;
} quench_tokenizer;

/* Further weights of the same architecture, as requested by `needs`. */
typedef struct quench_weights {
  uint32_t struct_size;
  const char* name;   /* "float", or the revision of a checkpoint */
  const char* branch; /* of the trajectory, or "" */
  double step;        /* NaN if unknown */
  double tokens;      /* NaN if unknown */
  /* Tensors named as in quench_model_table.parameters (or by an alias), as they are stored. */
  const quench_source* source;
} quench_weights;

#define QUENCH_METRIC_NEEDS_FLOAT 1u /* weights[0] "float": before quantization */
/* All checkpoints of the subject's branch, in order. The metric runs once per branch; the subject
 * is its last checkpoint. */
#define QUENCH_METRIC_NEEDS_TRAJECTORY 2u
#define QUENCH_METRIC_NEEDS_TOKENIZER 4u

typedef struct quench_evaluate_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  const quench_subject* subject;
  uint32_t tokens_count;
  const quench_tokens* tokens; /* one for each corpus parameter that is set */
  const quench_metric_sink* sink;
  const quench_tokenizer* tokenizer; /* NULL if there is none */
  uint32_t weights_count;
  const quench_weights* weights; /* those requested by `needs` */
} quench_evaluate_args;

typedef struct quench_metric_table {
  uint32_t struct_size;
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_metric** metric,
                          quench_error* error) QUENCH_NOEXCEPT;
  void (*destroy)(quench_metric* metric) QUENCH_NOEXCEPT;
  /* Measures the subject. May be called again for another model. */
  quench_status (*evaluate)(quench_metric* metric, const quench_evaluate_args* args,
                            quench_error* error) QUENCH_NOEXCEPT;
  const void* (*extension)(const quench_metric* metric, const char* id) QUENCH_NOEXCEPT;
  /* Returns QUENCH_METRIC_NEEDS_* for these parameters; NULL: none. */
  uint32_t (*needs)(const quench_metric* metric) QUENCH_NOEXCEPT;
} quench_metric_table;

#ifdef __cplusplus
}
#endif
#endif
