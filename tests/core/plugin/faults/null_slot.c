/* A function of its table is NULL. */
#include "fault.h"
static const quench_corpus_table table = {sizeof(quench_corpus_table), fault_open, fault_close, 0,
                                          fault_fingerprint};
static const quench_item item = FAULT_ITEM("null_slot", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
