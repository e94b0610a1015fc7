/* Calls its libtorch as soon as it is loaded. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
int fault_parts(void);
__attribute__((constructor)) static void call(void) {
  (void)fault_parts();
}
static const quench_item item = FAULT_ITEM("needs_torch", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
