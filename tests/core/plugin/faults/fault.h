/* What the fault libraries share: a module that is right in every respect, to spoil one of them. */
#ifndef QUENCH_TEST_FAULT_H
#define QUENCH_TEST_FAULT_H

#include <math.h>
#include <stdlib.h>

#include "quench/abi/kind/corpus.h"
#include "quench/abi/module.h"

/* A corpus of two documents, "one" and "two". */
typedef struct fault_corpus {
  uint64_t next;
} fault_corpus;

static inline quench_status fault_open(const char* json, uint64_t bytes, quench_corpus** corpus,
                                       quench_error* error) {
  (void)json;
  (void)bytes;
  (void)error;
  *corpus = (quench_corpus*)calloc(1, sizeof(fault_corpus));
  return QUENCH_OK;
}
static inline void fault_close(quench_corpus* corpus) {
  free(corpus);
}
static inline quench_status fault_next(quench_corpus* corpus, quench_document* document,
                                       quench_error* error) {
  fault_corpus* self = (fault_corpus*)corpus;
  (void)error;
  if (self->next == 2) {
    return QUENCH_END;
  }
  document->text = self->next == 0 ? "one" : "two";
  document->text_bytes = 3;
  document->index = self->next++;
  return QUENCH_OK;
}
static inline quench_status fault_fingerprint(quench_corpus* corpus, char hex[65],
                                              quench_error* error) {
  (void)corpus;
  (void)error;
  for (int i = 0; i < 64; ++i) {
    hex[i] = 'a';
  }
  hex[64] = '\0';
  return QUENCH_OK;
}
static inline quench_status fault_init(const quench_host* host, quench_error* error) {
  (void)host;
  (void)error;
  return QUENCH_OK;
}

#define FAULT_TABLE \
  { sizeof(quench_corpus_table), fault_open, fault_close, fault_next, fault_fingerprint }
#define FAULT_PARAMETER(name, type, preset, low, high, choices) \
  { sizeof(quench_parameter), type, name, preset, low, high, choices, "what it means" }
#define FAULT_ITEM(id, count, parameters, table)                                              \
  {                                                                                           \
    sizeof(quench_item), 0, "corpus", id, "1.0.0", "A corpus of two words.", "Nobody (2024)", \
        "{}", count, parameters, table, 0, 0                                                  \
  }
/* Written for plugin ABI `major`.`minor`, and needs a host of `least`. */
#define FAULT_MODULE_OF(major, minor, least, count, items)                                       \
  {                                                                                              \
    sizeof(quench_module), major, minor, least, "test.fault", "1.0.0", "by hand", fault_init, 0, \
        count, items                                                                             \
  }
#define FAULT_MODULE(count, items) \
  FAULT_MODULE_OF(QUENCH_ABI_MAJOR, QUENCH_ABI_MINOR, 0, count, items)

#endif
