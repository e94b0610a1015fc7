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
  const int32_t* ids /*: [offsets[documents]] */;      /* all documents, one after the other */
  const uint64_t* offsets /*: [documents+1] */; /* document d is ids[offsets[d] .. offsets[d+1]) */
  /* [documents] UTF-8 bytes of each document, or NULL if the corpus has ids only */
  const uint64_t* bytes /*: [documents]; null */;
} quench_tokens;

/* Sequences to score. Row b is ids[starts[b] .. starts[b+1]), its own context from
 * position 0. Position t predicts the id at t+1 of the row. That id is scored if
 * scored_from[b] <= t+1 < length (scored_from NULL means 1: every id except the
 * first). */
typedef struct quench_score_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  uint64_t rows;
  const int32_t* ids /*: [starts[rows]] */;
  const uint64_t* starts /*: [rows+1] */;      /* [rows+1] */
  const uint64_t* scored_from /*: [rows]; null */; /* [rows] or NULL */
  /* out, [starts[rows]], indexed like ids: nll[i] = -log p(ids[i] | ids before it in the row) in
   * nats; 0 if not scored. */
  double* nll /*: [starts[rows]] */;
  /* out, indexed like nll: the most likely id there; or NULL */
  int32_t* argmax /*: [starts[rows]] */;
  /* [rows] or NULL: -1, or the parent row (smaller than b) whose ids precede those of row b, and so
   * on up to a row without a parent. Alternatives after a shared prefix run the prefix once.
   * Positions continue after the parent's last. The first id of a row with a parent is also scored
   * if scored_from[b] is 0. */
  const int64_t* parents /*: [rows]; null */;
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
  quench_status (*items)(void* context, const char* name, const double* values /*: [count] */,
                         uint64_t count,
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
  /*: life next */
  quench_status (*encode)(void* context, const char* text, uint64_t bytes, int32_t special,
                          const int32_t** ids /*: [count] */, uint64_t* count,
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
  const quench_tokens* tokens /*: [tokens_count] */; /* one for each corpus parameter that is set */
  const quench_metric_sink* sink;
  const quench_tokenizer* tokenizer; /* NULL if there is none */
  uint32_t weights_count;
  const quench_weights* weights /*: [weights_count] */; /* those requested by `needs` */
} quench_evaluate_args;

/* Vectors over all parameters would be in the memory of the model's device
 * (extension/gradients.h). Else they are in host memory: the family does not offer that, the model
 * comes block by block, or the metric is in a process of its own. */
#define QUENCH_METRIC_VECTORS_ON_DEVICE (1u << 0)

/* What the host offers during `wants`. All pointers it returns are valid until `wants` returns. */
typedef struct quench_record_host {
  uint32_t struct_size;
  void* context;
  /* Resolves `location` to a folder or file: a path stays as it is; hf://datasets/org/name[/file]
   * lies in the hub's cache. NOT_FOUND says what is missing. */
  quench_status (*locate)(void* context, const char* location,
                          const char** path /*: is out string */,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* Returns a YAML file as JSON text. The value then depends on the file's content. */
  quench_status (*yaml_file)(void* context, const char* path,
                             const char** json /*: is out pointer bytes[bytes] */, uint64_t* bytes,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Returns YAML text as JSON text; `name` stands for the file in messages. */
  quench_status (*yaml_text)(void* context, const char* text, uint64_t bytes, const char* name,
                             const char** json /*: is out pointer bytes[json_bytes] */,
                             uint64_t* json_bytes,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Requests a data set: a corpus plugin and its parameters (the others take their defaults), with
   * which it must yield records. Data sets are numbered from 0 in the order of these calls.
   */
  quench_status (*want)(void* context, const char* name, const char* corpus_id,
                        const char* parameters_json, quench_error* error) QUENCH_NOEXCEPT;
  /* Names another file that the metric reads itself and whose content the value depends on. */
  quench_status (*want_file)(void* context, const char* path, quench_error* error) QUENCH_NOEXCEPT;
} quench_record_host;

typedef struct quench_metric_table {
  uint32_t struct_size;
  quench_status (*create)(const char* parameters_json, uint64_t bytes, quench_metric** metric,
                          quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*destroy)(quench_metric* metric) QUENCH_NOEXCEPT;
  /* Measures the subject. May be called again for another model. */
  quench_status (*evaluate)(quench_metric* metric, const quench_evaluate_args* args,
                            quench_error* error) QUENCH_NOEXCEPT;

  /* ---- Optional: may be NULL ----------------------------------------------------------------- */

  /* Returns QUENCH_METRIC_NEEDS_* for these parameters; NULL: none. */
  /*: optional */
  uint32_t (*needs)(const quench_metric* metric) QUENCH_NOEXCEPT;
  /* Refuses (INVALID_ARGUMENT) a model that `evaluate` would fail on with these parameters, such as
   * one whose context is shorter than the blocks to measure. `model` may be open for its shapes
   * only (QUENCH_OPEN_SHAPES). Corpora are not available. */
  /*: optional */
  quench_status (*fits)(const quench_metric* metric, const quench_model_table* table,
                        const quench_model* model, quench_error* error) QUENCH_NOEXCEPT;
  /* Predicts the bytes that `evaluate` holds at its peak besides the model, from parameters and
   * shapes; 0 if that is negligible. `model` may be open for its shapes only. Corpora are not
   * available. */
  /*: optional */
  quench_status (*predict_memory)(const quench_metric* metric, const quench_model_table* table,
                                  const quench_model* model, uint64_t* bytes,
                                  quench_error* error) QUENCH_NOEXCEPT;
  /* The same for a model on a device that has memory of its own: the bytes there, what the model
   * holds for the metric among them, and those in host memory. flags: QUENCH_METRIC_*_ON_DEVICE.
   * NULL: where they are is not known. */
  /*: optional */
  quench_status (*predict_memory_on_device)(const quench_metric* metric,
                                            const quench_model_table* table,
                                            const quench_model* model, uint32_t flags,
                                            uint64_t* device_bytes, uint64_t* host_bytes,
                                            quench_error* error) QUENCH_NOEXCEPT;

  /* A group, for data with fields: questions, choices, labels. The metric names the data sets and
   * files that it reads. The host opens them through corpus plugins, hashes them into the key of the
   * value, and passes the records on before `evaluate`.
   *
   *   create -> wants -> take* (all records of data set 0, then of 1, ...) -> evaluate -> destroy
   *
   * Names what `evaluate` will read; the same for the same parameters and files. Called once after
   * `create`. INVALID_ARGUMENT and NOT_FOUND name the wrong parameter or the missing file. */
  /*: optional group records */
  quench_status (*wants)(quench_metric* metric, const quench_record_host* host,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* Passes the next record of a data set, a JSON object; the metric copies what it keeps.
   * QUENCH_END: it wants no more of this data set. */
  /*: optional group records */
  quench_status (*take)(quench_metric* metric, uint32_t data_set, const char* record,
                        uint64_t bytes, quench_error* error) QUENCH_NOEXCEPT;
} quench_metric_table;

#ifdef __cplusplus
}
#endif
#endif
