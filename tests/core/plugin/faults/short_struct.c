/* Its module structure ends before the items. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static const quench_item item = FAULT_ITEM("short_struct", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = {24,      QUENCH_ABI_MAJOR, QUENCH_ABI_MINOR, 0, "test.fault",
                                     "1.0.0", "by hand",        fault_init,       0, 1,
                                     items};
const quench_module* quench_module_v1(void) {
  return &module;
}
