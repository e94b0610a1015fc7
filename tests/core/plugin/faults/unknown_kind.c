/* Its item is of a kind that this host does not have. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static const quench_item item = {sizeof(quench_item),
                                 0,
                                 "teapot",
                                 "unknown_kind",
                                 "1.0.0",
                                 "Summary.",
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
