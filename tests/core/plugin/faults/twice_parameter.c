/* Two parameters have one name. */
#include "fault.h"
static const quench_corpus_table table = FAULT_TABLE;
static const quench_parameter parameters[] = {
    FAULT_PARAMETER("bits", QUENCH_PARAMETER_INTEGER, "4", 2, 8, 0),
    FAULT_PARAMETER("bits", QUENCH_PARAMETER_INTEGER, "4", 2, 8, 0)};
static const quench_item item = FAULT_ITEM("twice_parameter", 2, parameters, &table);
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
