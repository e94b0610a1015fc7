/* Takes half a second to be loaded, and is fine otherwise. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
__attribute__((constructor)) static void rest(void) {
  const struct timespec half = {0, 500000000};
  nanosleep(&half, 0);
}
static const quench_item item = FAULT_ITEM("constructor_sleeps", 0, 0, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
