/* Metric extension for data with fields: questions, choices, labels. The metric names the data sets
 * and files that it reads. The host opens them through corpus plugins, hashes them into the key of
 * the value, and passes the records on before `evaluate`.
 *
 *   create -> wants -> take* (all records of data set 0, then of 1, ...) -> evaluate -> destroy
 */
#ifndef QUENCH_ABI_EXTENSION_RECORDS_H
#define QUENCH_ABI_EXTENSION_RECORDS_H

#include "quench/abi/kind/metric.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_METRIC_RECORDS "quench.metric.records/1"

/* What the host offers during `wants`. All pointers it returns are valid until `wants` returns. */
typedef struct quench_record_host {
  uint32_t struct_size;
  void* context;
  /* Resolves `location` to a folder or file: a path stays as it is; hf://datasets/org/name[/file]
   * lies in the hub's cache. NOT_FOUND says what is missing. */
  quench_status (*locate)(void* context, const char* location, const char** path,
                          quench_error* error) QUENCH_NOEXCEPT;
  /* Returns a YAML file as JSON text. The value then depends on the file's content. */
  quench_status (*yaml_file)(void* context, const char* path, const char** json, uint64_t* bytes,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Returns YAML text as JSON text; `name` stands for the file in messages. */
  quench_status (*yaml_text)(void* context, const char* text, uint64_t bytes, const char* name,
                             const char** json, uint64_t* json_bytes,
                             quench_error* error) QUENCH_NOEXCEPT;
  /* Requests a data set: a corpus plugin and its parameters (the others take their defaults), with
   * which it must yield records. Data sets are numbered from 0 in the order of these calls.
   */
  quench_status (*want)(void* context, const char* name, const char* corpus_id,
                        const char* parameters_json, quench_error* error) QUENCH_NOEXCEPT;
  /* Names another file that the metric reads itself and whose content the value depends on. */
  quench_status (*want_file)(void* context, const char* path, quench_error* error) QUENCH_NOEXCEPT;
} quench_record_host;

typedef struct quench_metric_records {
  uint32_t struct_size;
  /* Names what `evaluate` will read; the same for the same parameters and files. Called once after
   * `create`. INVALID_ARGUMENT and NOT_FOUND name the wrong parameter or the missing file. */
  quench_status (*wants)(quench_metric* metric, const quench_record_host* host,
                         quench_error* error) QUENCH_NOEXCEPT;
  /* Passes the next record of a data set, a JSON object; the metric copies what it keeps.
   * QUENCH_END: it wants no more of this data set. */
  quench_status (*take)(quench_metric* metric, uint32_t data_set, const char* record,
                        uint64_t bytes, quench_error* error) QUENCH_NOEXCEPT;
} quench_metric_records;

#ifdef __cplusplus
}
#endif
#endif
