/* Kind "corpus": a stream of documents, of token ids, or of records with fields.
 *
 *   open(parameters) -> next()* -> close
 *
 * Reading is sequential and starts at the first document.
 *
 * [instance-serial; the host may read one corpus on its I/O thread]
 */
#ifndef QUENCH_ABI_KIND_CORPUS_H
#define QUENCH_ABI_KIND_CORPUS_H

#include "quench/abi/host.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUENCH_KIND_CORPUS "corpus"

typedef struct quench_corpus quench_corpus;

/* One document. Exactly one of the three forms is set, the same one throughout a corpus. All
 * pointers are valid until the next call on this corpus. */
typedef struct quench_document {
  uint32_t struct_size;
  uint32_t flags;   /* 0 */
  const char* text /*: null */; /* UTF-8, or NULL */
  uint64_t text_bytes;
  const int32_t* ids /*: [id_count]; null */; /* token ids, or NULL */
  uint64_t id_count;
  /* JSON object with all fields if records were requested, or NULL */
  const char* record /*: null */;
  uint64_t record_bytes;
  uint64_t index; /* position in the corpus, from 0, counting skipped documents */
} quench_document;

typedef struct quench_corpus_table {
  uint32_t struct_size;
  /* Opens the corpus. NOT_FOUND names a missing file, DATA_LOSS a broken one. The caller closes
   * it. */
  quench_status (*open)(const char* parameters_json, uint64_t bytes, quench_corpus** corpus,
                        quench_error* error) QUENCH_NOEXCEPT;
  /*: closes */
  void (*close)(quench_corpus* corpus) QUENCH_NOEXCEPT;
  /* Returns the next document or QUENCH_END. An error names file and line and ends the corpus. */
  /*: life next */
  quench_status (*next)(quench_corpus* corpus, quench_document* document,
                        quench_error* error) QUENCH_NOEXCEPT;
  /* Writes SHA-256 (64 hex digits and NUL) over the bytes of the files with the documents.
   * Parameters are not included. [any time] */
  quench_status (*fingerprint)(quench_corpus* corpus, char hex[65],
                               quench_error* error) QUENCH_NOEXCEPT;
} quench_corpus_table;

#ifdef __cplusplus
}
#endif
#endif
