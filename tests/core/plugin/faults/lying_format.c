/* A format whose offers are wrong, each in the way that config.json names, with or without
 * quotation marks. Only "truth" and "carries" are right: the second has a tokenizer.
 * FAULT_UNLISTING: one that does not list the checkpoints of a place. */
#include <string.h>

#include "fault.h"
#include "quench/abi/kind/format.h"

static char lie[32];

static int says(const char* word) {
  return strcmp(lie, word) == 0;
}

static int32_t lying_probe(const quench_place* place, quench_error* error) {
  (void)error;
  return strncmp(place->config_json, "score", 5) == 0 ? 101 : 50;
}
static quench_status lying_open(const quench_place* place, const char* json, uint64_t bytes,
                                quench_checkpoint** checkpoint, quench_error* error) {
  (void)json;
  (void)bytes;
  (void)error;
  const char* word = place->config_json + (place->config_json[0] == '"');
  const size_t length = strcspn(word, "\"");
  memset(lie, 0, sizeof lie);
  memcpy(lie, word, length < sizeof lie ? length : sizeof lie - 1);
  if (!says("nothing")) {
    *checkpoint = (quench_checkpoint*)lie;
  }
  return QUENCH_OK;
}
static void lying_close(quench_checkpoint* checkpoint) {
  (void)checkpoint;
}

static uint64_t lying_count(const quench_source* source) {
  (void)source;
  return says("count") ? UINT64_MAX : 2;
}
static quench_status lying_info(const quench_source* source, uint64_t index,
                                quench_tensor_info* info, quench_error* error) {
  static const int64_t fine[] = {2, 2};
  static const int64_t negative[] = {-1, 2};
  static const int64_t huge[] = {INT64_MAX, INT64_MAX};
  (void)source;
  (void)error;
  info->name = says("no_name") ? NULL : says("same_name") || index == 0 ? "a" : "b";
  info->dtype.code = says("dtype") ? 77 : QUENCH_DTYPE_FLOAT;
  info->dtype.bits = 32;
  info->dtype.lanes = says("lanes") ? 4 : 1;
  info->dimensions = says("dimensions") ? 9 : says("no_shape") ? -1 : 2;
  info->shape = says("negative") ? negative : says("huge") ? huge : fine;
  info->shared_with = says("later") ? index + 1 : index;
  return QUENCH_OK;
}
static quench_status lying_find(const quench_source* source, const char* name, uint64_t* index,
                                quench_error* error) {
  (void)source;
  (void)name;
  (void)index;
  (void)error;
  return QUENCH_NOT_FOUND;
}
static quench_status lying_read(const quench_source* source, uint64_t index, uint64_t first,
                                uint64_t elements, void* destination, quench_error* error) {
  (void)source;
  (void)index;
  (void)first;
  (void)error;
  memset(destination, 0, elements * 4);
  return says("status") ? 99 : QUENCH_OK;
}
static const quench_source tensors = {
    sizeof(quench_source), NULL, lying_count, lying_info, lying_find, lying_read};
static const quench_source readless = {
    sizeof(quench_source), NULL, lying_count, lying_info, lying_find, NULL};

static quench_status lying_contents(const quench_checkpoint* checkpoint,
                                    quench_checkpoint_contents* contents, quench_error* error) {
  (void)checkpoint;
  (void)error;
  contents->tensors = says("no_tensors") ? NULL : says("no_read") ? &readless : &tensors;
  if (says("config") || says("list")) {
    contents->config_json = says("config") ? "{" : "[]";
    contents->config_bytes = strlen(contents->config_json);
  }
  if (says("tokenizer") || says("carries")) {
    contents->tokenizer_name = says("carries") ? "tokenizer.odd" : "../outside";
    contents->tokenizer = "x";
    contents->tokenizer_bytes = 1;
  }
  return QUENCH_OK;
}
#ifdef FAULT_UNLISTING
#define LYING_ID "unlisting_format"
#define LYING_LIST NULL
#else
#define LYING_ID "lying_format"
#define LYING_LIST lying_list
static quench_status lying_list(const quench_place* place,
                                quench_status (*visit)(void*, const quench_checkpoint_entry*),
                                void* context, quench_error* error) {
  static const quench_checkpoint_entry entry = {sizeof entry, "../outside", 1, -1};
  (void)place;
  (void)error;
  return visit(context, &entry);
}
#endif

static const quench_format_table table = {sizeof(quench_format_table),
                                          lying_probe,
                                          lying_open,
                                          lying_close,
                                          lying_contents,
                                          LYING_LIST,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL};
static const quench_item item = {sizeof(quench_item),
                                 0,
                                 "format",
                                 LYING_ID,
                                 "1.0.0",
                                 "A format that lies.",
                                 0,
                                 0,
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
