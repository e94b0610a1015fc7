/* quench.json_values/1: a parsed document as a tree of values, for one too large to look up each
 * value by its pointer (quench.json/1): a vocabulary of 100,000 entries.
 *
 * A host may lack it. Documents and their values are read-only and may be read on all threads.
 */
#ifndef QUENCH_ABI_JSON_VALUES_H
#define QUENCH_ABI_JSON_VALUES_H

#include "quench/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_SERVICE_JSON_VALUES "quench.json_values/1"

/* One value of a document; valid until the document is released. */
typedef struct quench_json_value quench_json_value;

typedef struct quench_json_values {
  uint32_t struct_size;
  /* Like parse of quench_json; the document is for this table's functions alone. `name` stands for
   * the text in messages, which begin with it. The caller releases the document. [thread-safe] */
  quench_status (*parse)(const quench_host* host, const char* name, const char* text,
                         uint64_t bytes, quench_json_document** document,
                         quench_error* error) QUENCH_NOEXCEPT;
  void (*release)(quench_json_document* document) QUENCH_NOEXCEPT;
  const quench_json_value* (*root)(const quench_json_document* document) QUENCH_NOEXCEPT;
  /* QUENCH_JSON_*, never ABSENT. */
  int32_t (*type)(const quench_json_value* value) QUENCH_NOEXCEPT;
  /* Elements of an array or members of an object; 0 for all else. */
  uint64_t (*size)(const quench_json_value* value) QUENCH_NOEXCEPT;
  /* The member of an object called `key`, or NULL; NULL of what is no object. */
  const quench_json_value* (*member)(const quench_json_value* value, const char* key,
                                     uint64_t key_bytes) QUENCH_NOEXCEPT;
  /* Element `index` of an array, or NULL; NULL of what is no array. */
  const quench_json_value* (*element)(const quench_json_value* value,
                                      uint64_t index) QUENCH_NOEXCEPT;
  /* Calls take(user, key, value) for every member of an object, each key once, always in the same
   * order. Ends with the first status that is not QUENCH_OK, and returns it. */
  quench_status (*each_member)(const quench_json_value* value,
                               quench_status (*take)(void* user, const char* key,
                                                     uint64_t key_bytes,
                                                     const quench_json_value* member)
                                   QUENCH_NOEXCEPT,
                               void* user) QUENCH_NOEXCEPT;
  /* The value, or INVALID_ARGUMENT for one of another type (an integer is a number). */
  quench_status (*boolean)(const quench_json_value* value, int32_t* out) QUENCH_NOEXCEPT;
  quench_status (*integer)(const quench_json_value* value, int64_t* out) QUENCH_NOEXCEPT;
  quench_status (*number)(const quench_json_value* value, double* out) QUENCH_NOEXCEPT;
  /* `text` is NUL-terminated UTF-8, valid as long as the value. */
  quench_status (*string)(const quench_json_value* value, const char** text,
                          uint64_t* bytes) QUENCH_NOEXCEPT;
} quench_json_values;

#ifdef __cplusplus
}
#endif
#endif
