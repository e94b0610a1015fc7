/* Is killed while it is loaded, as by a system without memory. */
#include <signal.h>

#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
__attribute__((constructor)) static void die(void) {
  raise(SIGKILL);
}
static const quench_item item = FAULT_ITEM("constructor_killed", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
