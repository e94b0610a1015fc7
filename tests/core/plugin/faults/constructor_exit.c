/* Ends the process with success while it is loaded. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
__attribute__((constructor)) static void leave(void) {
  exit(0);
}
static const quench_item item = FAULT_ITEM("constructor_exit", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
