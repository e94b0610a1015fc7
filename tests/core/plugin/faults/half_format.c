/* A format that can begin a folder and not end it. */
#include "fault.h"
#include "quench/abi/kind/format.h"

static quench_status half_begin(const char* json, uint64_t bytes, quench_format_writer** writer,
                                quench_error* error) {
  (void)json;
  (void)bytes;
  (void)writer;
  (void)error;
  return QUENCH_UNSUPPORTED;
}
static const quench_format_table table = {sizeof(quench_format_table),
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL,
                                          half_begin,
                                          NULL,
                                          NULL,
                                          NULL,
                                          NULL};
static const quench_item item = {sizeof(quench_item),
                                 0,
                                 "format",
                                 "half_format",
                                 "1.0.0",
                                 "Half a format.",
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
