/* Says that it needs more than it was built for. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static const quench_item item = FAULT_ITEM("needs_beyond", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module =
    FAULT_MODULE_OF(QUENCH_ABI_MAJOR, QUENCH_ABI_MINOR, QUENCH_ABI_MINOR + 1, 1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
