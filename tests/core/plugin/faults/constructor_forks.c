/* Leaves a process behind when it is loaded. */
#include <unistd.h>

#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
__attribute__((constructor)) static void multiply(void) {
  if (fork() == 0) {
    sleep(100);
    _exit(0);
  }
}
static const quench_item item = FAULT_ITEM("constructor_forks", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
