/* Prints to stdout while it is loaded, and is fine otherwise. */
#include <stdio.h>

#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
__attribute__((constructor)) static void greet(void) {
  puts("{\"rejected\": \"not the description\"}");
}
static const quench_item item = FAULT_ITEM("constructor_prints", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
