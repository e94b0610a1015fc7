/* Changes the locale of the process when it is loaded. */
#include <locale.h>

#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
__attribute__((constructor)) static void translate(void) {
  setlocale(LC_ALL, "C.UTF-8");
}
static const quench_item item = FAULT_ITEM("constructor_locale", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
