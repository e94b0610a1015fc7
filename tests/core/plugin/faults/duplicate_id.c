/* Two items have one name. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static const quench_item item = FAULT_ITEM("duplicate_id", 0, 0, &table);
static const quench_item* const items[] = {&item, &item};
static const quench_module module = FAULT_MODULE(2, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
