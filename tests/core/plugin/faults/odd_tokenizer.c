/* A tokenizer that gives the values of bytes, unless its file names a fault to commit. */
#include <string.h>

#include "fault.h"
#include "quench/abi/kind/tokenizer.h"

typedef struct odd_encoder {
  char fault[32];
} odd_encoder;

static int32_t odd_probe(const quench_file_head* file, quench_error* error) {
  (void)error;
  return strcmp(file->name, "tokenizer.odd") == 0 ? QUENCH_TOKENIZER_BY_NAME
         : strstr(file->name, ".odd") != 0        ? 1
                                                  : 0;
}
static quench_status odd_open(const char* file, uint64_t file_bytes, const char* name,
                              const char* json, uint64_t bytes, quench_encoder** encoder,
                              quench_error* error) {
  odd_encoder* made = (odd_encoder*)calloc(1, sizeof(odd_encoder));
  (void)name;
  (void)json;
  (void)bytes;
  (void)error;
  memcpy(made->fault, file, file_bytes < 31 ? file_bytes : 31);
  if (strcmp(made->fault, "no instance") == 0) {
    free(made);
    made = 0;
  }
  *encoder = (quench_encoder*)made;
  return QUENCH_OK;
}
static void odd_close(quench_encoder* encoder) {
  free(encoder);
}
static uint64_t odd_vocabulary_size(const quench_encoder* encoder) {
  return strcmp(((const odd_encoder*)encoder)->fault, "small vocabulary") == 0 ? 100 : 256;
}
static quench_status odd_encode(quench_encoder* encoder, const quench_text_batch* batch,
                                const quench_id_sink* sink, quench_error* error) {
  const char* fault = ((const odd_encoder*)encoder)->fault;
  uint64_t* counts = (uint64_t*)malloc(batch->count * sizeof(uint64_t));
  int32_t* ids = 0;
  for (uint64_t d = 0; d < batch->count; ++d) {
    counts[d] =
        strcmp(fault, "endless") == 0 ? UINT64_MAX : batch->offsets[d + 1] - batch->offsets[d];
  }
  if (strcmp(fault, "no call") != 0) {
    ids = sink->allocate(sink->context, counts, batch->count);
  }
  if (ids != 0) {
    for (uint64_t i = 0; i < batch->offsets[batch->count]; ++i) {
      ids[i] = (unsigned char)batch->text[i];
    }
  }
  if (strcmp(fault, "two calls") == 0) {
    sink->allocate(sink->context, counts, batch->count);
  }
  free(counts);
  if (ids == 0 && strcmp(fault, "no call") != 0) {
    error->code = QUENCH_RESOURCE_EXHAUSTED;
    strcpy(error->message, "no memory");
    return QUENCH_RESOURCE_EXHAUSTED;
  }
  return QUENCH_OK;
}

static const quench_tokenizer_table table = {sizeof(quench_tokenizer_table),
                                             odd_probe,
                                             odd_open,
                                             odd_close,
                                             odd_vocabulary_size,
                                             odd_encode};
static const quench_item item = {sizeof(quench_item),
                                 0,
                                 "tokenizer",
                                 "odd_tokenizer",
                                 "1.0.0",
                                 "Bytes.",
                                 "Nobody",
                                 "{}",
                                 0,
                                 0,
                                 &table,
                                 0,
                                 0};
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
