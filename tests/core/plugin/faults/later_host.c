/* Built for a later minor of the ABI, and does not do without what that one added. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static const quench_item item = FAULT_ITEM("later_host", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE_OF(QUENCH_ABI_MAJOR, 99, 98, 1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
