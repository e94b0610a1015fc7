/* A model family that dies of any config, or hangs of one that says so, and comes first in the
 * order of ids. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quench/abi/kind/model.h"
#include "quench/abi/module.h"

static int32_t die(const char* config, uint64_t bytes, quench_error* error) {
  (void)error;
  while (memmem(config, bytes, "\"hangs\"", 7) != NULL) {
    sleep(1);
  }
  if (bytes > 2) { /* not the empty object of `plugins check` */
    abort();
  }
  return 0;
}

/* The host refuses a table with NULL slots; none of these is ever called. */
static void never(void) {
  abort();
}
#define NEVER(slot) .slot = (__typeof__(((quench_model_table*)0)->slot))(void (*)(void))never

static const quench_model_table table = {.struct_size = sizeof(quench_model_table),
                                         .probe = die,
                                         NEVER(open),
                                         NEVER(close),
                                         NEVER(info),
                                         NEVER(parameters),
                                         NEVER(block),
                                         NEVER(carry),
                                         NEVER(embed),
                                         NEVER(stage),
                                         NEVER(token_nll),
                                         NEVER(logits),
                                         NEVER(weight_get),
                                         NEVER(weight_set),
                                         NEVER(weight_generation),
                                         NEVER(set_linear_op)};

static quench_status init(const quench_host* host, quench_error* error) {
  (void)host;
  (void)error;
  return QUENCH_OK;
}

static const quench_item item = {.struct_size = sizeof(quench_item),
                                 .kind = QUENCH_KIND_MODEL,
                                 .id = "aaa_family",
                                 .version = "1.0.0",
                                 .summary = "Dies of any config.",
                                 .table = &table};
static const quench_item* const items[] = {&item};
static const quench_module module = {.struct_size = sizeof(quench_module),
                                     .abi_major = QUENCH_ABI_MAJOR,
                                     .abi_minor = QUENCH_ABI_MINOR,
                                     .id = "test.aaa_family",
                                     .version = "1.0.0",
                                     .build = "by hand",
                                     .init = init,
                                     .item_count = 1,
                                     .items = items};
const quench_module* quench_module_v1(void) {
  return &module;
}
