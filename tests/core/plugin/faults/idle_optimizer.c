/* An optimizer that uses its closure as `step` says: 1 not at all, 2 with a vector that is too
 * short, 3 rightly, 4 rightly, but it returns success whatever comes. */
#include "fault.h"
#include "quench/abi/kind/optimizer.h"

static quench_status idle_create(const char* json, uint64_t bytes, quench_optimizer** optimizer,
                                 quench_error* error) {
  (void)json;
  (void)bytes;
  (void)error;
  *optimizer = (quench_optimizer*)calloc(1, 1);
  return QUENCH_OK;
}
static void idle_destroy(quench_optimizer* optimizer) {
  free(optimizer);
}
static void never_called(void) {
  abort();
}
static quench_status idle_gradient(quench_optimizer* optimizer, const quench_closure_args* args,
                                   quench_error* error) {
  (void)optimizer;
  if (args->step == 1) {
    return QUENCH_OK;
  }
  const int64_t one = 1;
  quench_tensor weights = *args->weights;
  if (args->step == 2) {
    weights.shape = &one;
  }
  double loss = 0;
  const quench_closure* closure = args->closure;
  const quench_status status =
      closure->evaluate(closure->context, &weights, args->gradient, &loss, error);
  return args->step == 4 ? QUENCH_OK : status;
}

static const quench_optimizer_table table = {.struct_size = sizeof(quench_optimizer_table),
                                             .create = idle_create,
                                             .destroy = idle_destroy,
                                             .begin = (void*)never_called,
                                             .step = (void*)never_called,
                                             .state_info = (void*)never_called,
                                             .state_get = (void*)never_called,
                                             .state_set = (void*)never_called,
                                             .gradient = idle_gradient};
static const quench_item item = {.struct_size = sizeof(quench_item),
                                 .kind = "optimizer",
                                 .id = "idle_optimizer",
                                 .version = "1.0.0",
                                 .summary = "Uses its closure wrongly.",
                                 .reference = "Nobody (2024)",
                                 .example = "{}",
                                 .table = &table};
static const quench_item* const items[] = {&item};
static const quench_module module = FAULT_MODULE(1, items);
const quench_module* quench_module_v1(void) {
  return &module;
}
