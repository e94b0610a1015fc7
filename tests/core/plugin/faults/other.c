/* Offers an item of the same name as `good`, from another file. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static const quench_item item = FAULT_ITEM("good", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
