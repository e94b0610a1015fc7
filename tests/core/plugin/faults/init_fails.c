/* Its init says no. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static quench_status refuse(const quench_host* host, quench_error* error) {
  (void)host;
  error->message[0] = 110;
  error->message[1] = 111;
  error->message[2] = 0;
  return QUENCH_UNSUPPORTED;
}
static const quench_item item = FAULT_ITEM("init_fails", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = {sizeof(quench_module),
                                     QUENCH_ABI_MAJOR,
                                     QUENCH_ABI_MINOR,
                                     0,
                                     "test.fault",
                                     "1.0.0",
                                     "by hand",
                                     refuse,
                                     0,
                                     1,
                                     items};
const quench_module* quench_module_v1(void) {
  return &module;
}
