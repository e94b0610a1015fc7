/* A model family that fits the model_type FAULT_FAMILY and says so; it opens no model. */
#include <string.h>

#include "fault.h"
#include "quench/abi/kind/model.h"

static int32_t picky_probe(const char* config, uint64_t bytes, quench_error* error) {
  (void)bytes;
  (void)error;
  return strstr(config, FAULT_FAMILY) != 0 ? 50 : 0;
}
static void never_called(void) {
  abort();
}

static const quench_model_table table = {.struct_size = sizeof(quench_model_table),
                                         .probe = picky_probe,
                                         .open = (void*)never_called,
                                         .close = (void*)never_called,
                                         .info = (void*)never_called,
                                         .parameters = (void*)never_called,
                                         .block = (void*)never_called,
                                         .carry = (void*)never_called,
                                         .allocate = (void*)never_called,
                                         .release = (void*)never_called,
                                         .copy = (void*)never_called,
                                         .embed = (void*)never_called,
                                         .stage = (void*)never_called,
                                         .token_nll = (void*)never_called,
                                         .logits = (void*)never_called,
                                         .weight_get = (void*)never_called,
                                         .weight_set = (void*)never_called,
                                         .weight_generation = (void*)never_called,
                                         .set_linear_op = (void*)never_called,
                                         .extension = (void*)never_called};
static const quench_item item = {.struct_size = sizeof(quench_item),
                                 .kind = "model",
                                 .id = FAULT_FAMILY,
                                 .version = "1.0.0",
                                 .summary = "A family of one model_type.",
                                 .table = &table,
                                 .model_types = FAULT_FAMILY "|" FAULT_FAMILY "_hf"};
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
