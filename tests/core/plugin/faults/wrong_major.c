/* Built for another major of the ABI. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static const quench_item item = FAULT_ITEM("wrong_major", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE_OF(99, 0, 0, 1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
