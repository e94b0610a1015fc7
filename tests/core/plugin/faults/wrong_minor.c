/* Built for another minor of the ABI. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static const quench_item item = FAULT_ITEM("wrong_minor", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = {sizeof(quench_module),
                                     QUENCH_ABI_MAJOR,
                                     99,
                                     0,
                                     "test.fault",
                                     "1.0.0",
                                     "by hand",
                                     fault_init,
                                     0,
                                     1,
                                     items};
const quench_module* quench_module_v1(void) {
  return &module;
}
