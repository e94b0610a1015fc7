/* Aborts while it is loaded. */
#include <stdio.h>

#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
__attribute__((constructor)) static void fall(void) {
  fputs("the sky is falling\n", stderr);
  abort();
}
static const quench_item item = FAULT_ITEM("constructor_abort", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
