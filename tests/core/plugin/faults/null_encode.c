/* A tokenizer that cannot encode. */
#include "fault.h"
#include "quench/abi/kind/tokenizer.h"
static int32_t probe(const quench_file_head* file, quench_error* error) {
  (void)file;
  (void)error;
  return 0;
}
static quench_status open(const char* file, uint64_t file_bytes, const char* name, const char* json,
                          uint64_t bytes, quench_encoder** encoder, quench_error* error) {
  (void)file;
  (void)file_bytes;
  (void)name;
  (void)json;
  (void)bytes;
  (void)encoder;
  (void)error;
  return QUENCH_UNSUPPORTED;
}
static void close(quench_encoder* encoder) {
  (void)encoder;
}
static uint64_t vocabulary_size(const quench_encoder* encoder) {
  (void)encoder;
  return 0;
}
static const quench_tokenizer_table table = {
    sizeof(quench_tokenizer_table), probe, open, close, vocabulary_size, 0};
static const quench_item item = {sizeof(quench_item),
                                 0,
                                 "tokenizer",
                                 "null_encode",
                                 "1.0.0",
                                 "Nothing.",
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
