// A family whose memory is another device's: that of llama, with addresses at which nothing can be
// read. What touches its rows in place of having them copied ends the process, and so does a copy
// that is not pinned as it should be (pins.hpp); DISTANT_REFUSES: it pins nothing.
#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "quench/abi/extension/device_memory.h"
#include "quench/abi/extension/gradients.h"
#include "quench/abi/kind/model.h"
#include "quench/abi/module.h"
#include "quench/kit/error.hpp"
#include "tests/core/boundary/plugins/pins.hpp"

namespace kit = quench::kit;

namespace {

// No processor maps an address with this bit and not those above.
constexpr uint64_t kAway = uint64_t{1} << 52;
constexpr quench_device kDevice = {QUENCH_DEVICE_CUDA, 0};

quench_model_table near;   // the family in host memory
quench_model_table table;  // this one

quench::test::Pins& pins() {
  static quench::test::Pins all(DISTANT_REFUSES);
  return all;
}

void* moved(void* data, uint64_t by) {
  return reinterpret_cast<void*>(reinterpret_cast<uint64_t>(data) + by);
}

// As the family in host memory has it. Refuses what a device would.
quench_tensor here(const quench_tensor& tensor) {
  if (tensor.device.type != kDevice.type) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "a tensor in host memory, wanted one on the device");
  }
  quench_tensor out = tensor;
  out.device = {QUENCH_DEVICE_CPU, 0};
  out.data = moved(tensor.data, uint64_t{0} - kAway);
  return out;
}
quench_tensor there(const quench_tensor& tensor) {
  quench_tensor out = tensor;
  out.device = kDevice;
  out.data = moved(tensor.data, kAway);
  return out;
}
quench_tensor wherever(const quench_tensor& tensor) {
  return tensor.device.type == kDevice.type ? here(tensor) : tensor;
}

// A tensor in host memory of which a device makes a copy, or to which it copies; nullptr: none.
// Those of this test are all in C order.
void copies(std::initializer_list<const quench_tensor*> tensors) {
  for (const quench_tensor* tensor : tensors) {
    if (tensor == nullptr || tensor->device.type == kDevice.type) {
      continue;
    }
    uint64_t bytes = tensor->dtype.bits / 8u;
    for (int32_t d = 0; d < tensor->dimensions; ++d) {
      bytes *= static_cast<uint64_t>(tensor->shape[d]);
    }
    pins().copies(static_cast<const std::byte*>(tensor->data) + tensor->byte_offset, bytes);
  }
}

void copies(const quench_batch& batch) {
  copies({batch.tokens, batch.positions, batch.segments});
}

std::vector<quench_tensor> all_here(const quench_tensor* tensors, uint32_t count) {
  std::vector<quench_tensor> out;
  for (uint32_t i = 0; i < count; ++i) {
    out.push_back(here(tensors[i]));
  }
  return out;
}

// Only for who asks by name.
int32_t probe(const char*, uint64_t, quench_error*) noexcept {
  return 0;
}

quench_status info(const quench_model* model, quench_model_info* info,
                   quench_error* error) noexcept {
  const quench_status status = near.info(model, info, error);
  info->device = kDevice;
  return status;
}

quench_status allocate(quench_model* model, uint64_t bytes, void** memory,
                       quench_error* error) noexcept {
  const quench_status status = near.allocate(model, bytes, memory, error);
  *memory = moved(*memory, kAway);
  return status;
}

void release(quench_model* model, void* memory) noexcept {
  near.release(model, moved(memory, uint64_t{0} - kAway));
}

quench_status copy(quench_model* model, const quench_tensor* from, const quench_tensor* to,
                   void* stream, quench_error* error) noexcept {
  copies({from, to});
  const quench_tensor source = wherever(*from);
  const quench_tensor target = wherever(*to);
  return near.copy(model, &source, &target, stream, error);
}

quench_status embed(quench_model* model, const quench_embed_args* args,
                    quench_error* error) noexcept {
  return kit::guard(error, [&] {
    quench_embed_args own = *args;
    const quench_tensor h = here(*args->h);
    own.h = &h;
    copies(*args->batch);
    kit::check(near.embed(model, &own, error), *error);
  });
}

quench_status stage(quench_model* model, const quench_stage_args* args,
                    quench_error* error) noexcept {
  return kit::guard(error, [&] {
    quench_stage_args own = *args;
    const std::vector<quench_tensor> in = all_here(args->in, args->in_count);
    const std::vector<quench_tensor> out = all_here(args->out, args->out_count);
    own.in = in.data();
    own.out = out.data();
    copies(*args->batch);
    kit::check(near.stage(model, &own, error), *error);
  });
}

quench_status token_nll(quench_model* model, const quench_head_args* args,
                        quench_error* error) noexcept {
  return kit::guard(error, [&] {
    quench_head_args own = *args;
    const quench_tensor h = here(*args->h);
    own.h = &h;
    copies({args->targets, args->nll, args->argmax});
    kit::check(near.token_nll(model, &own, error), *error);
  });
}

quench_status logits(quench_model* model, const quench_tensor* h, const quench_tensor* logits,
                     void* stream, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const quench_tensor from = here(*h);
    const quench_tensor to = here(*logits);
    kit::check(near.logits(model, &from, &to, stream, error), *error);
  });
}

quench_status weight_get(quench_model* model, const char* name, const quench_tensor* destination,
                         quench_error* error) noexcept {
  copies({destination});
  const quench_tensor to = wherever(*destination);
  return near.weight_get(model, name, &to, error);
}

quench_status weight_set(quench_model* model, const char* name, const quench_tensor* value,
                         quench_error* error) noexcept {
  copies({value});
  const quench_tensor from = wherever(*value);
  return near.weight_set(model, name, &from, error);
}

void close(quench_model* model) noexcept {
  pins().close();
  near.close(model);
}

// An op sees the device's tensors.
struct DistantOp {
  quench_linear_op op;
};

quench_status apply(void* context, const quench_tensor* x, const quench_tensor* y, void* stream,
                    quench_error* error) noexcept {
  const quench_linear_op& op = static_cast<DistantOp*>(context)->op;
  const quench_tensor from = there(*x);
  const quench_tensor to = there(*y);
  return op.apply(op.context, &from, &to, stream, error);
}

quench_status inputs_of_op(void* context, const quench_tensor* x, const quench_tensor* rounded,
                           void* stream, quench_error* error) noexcept {
  const quench_linear_op& op = static_cast<DistantOp*>(context)->op;
  const quench_tensor from = there(*x);
  const quench_tensor to = there(*rounded);
  return op.inputs(op.context, &from, &to, stream, error);
}

void release_op(void* context) noexcept {
  auto* own = static_cast<DistantOp*>(context);
  if (own->op.release != nullptr) {
    own->op.release(own->op.context);
  }
  delete own;
}

quench_status set_linear_op(quench_model* model, uint32_t block, uint32_t group, uint32_t linear,
                            const quench_linear_op* op, quench_error* error) noexcept {
  if (op == nullptr) {
    return near.set_linear_op(model, block, group, linear, nullptr, error);
  }
  auto* own = new DistantOp{*op};
  const quench_linear_op distant = {sizeof distant, own, apply, release_op,
                                    op->inputs != nullptr ? inputs_of_op : nullptr};
  const quench_status status = near.set_linear_op(model, block, group, linear, &distant, error);
  if (status != QUENCH_OK) {
    delete own;
  }
  return status;
}

quench_status head_rows(quench_model* model, const quench_tensor* h, const quench_tensor* x,
                        void* stream, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const quench_tensor from = here(*h);
    const quench_tensor to = here(*x);
    kit::check(near.head_rows(model, &from, &to, stream, error), *error);
  });
}

quench_status gradient(quench_model* model, const quench_loss_args* args,
                       const quench_tensor* gradient, double* loss, quench_error* error) noexcept {
  copies(*args->batch);
  copies({args->targets, gradient});
  return static_cast<const quench_model_gradient*>(near.extension(model, QUENCH_MODEL_GRADIENT))
      ->gradient(model, args, gradient, loss, error);
}

quench_status available(quench_model*, uint64_t* free_bytes, uint64_t* total_bytes,
                        quench_error*) noexcept {
  *free_bytes = *total_bytes = uint64_t{1} << 40;
  return QUENCH_OK;
}

quench_status allocate_host(quench_model* model, uint64_t bytes, void** memory,
                            quench_error* error) noexcept {
  return near.allocate(model, bytes, memory, error);
}

void release_host(quench_model* model, void* memory) noexcept {
  near.release(model, memory);
}

quench_status pin_host(quench_model*, void* memory, uint64_t bytes, uint32_t flags,
                       quench_error* error) noexcept {
  return kit::guard(error, [&] {
    if (!pins().pin(memory, bytes, flags)) {
      kit::fail(QUENCH_RESOURCE_EXHAUSTED, "it pins nothing");
    }
  });
}

void unpin_host(quench_model*, void* memory) noexcept {
  pins().unpin(memory);
}

const void* extension(const quench_model* model, const char* id) noexcept {
  static constexpr quench_model_gradient kGradient = {sizeof kGradient, gradient};
  static constexpr quench_model_device_memory kMemory = {sizeof kMemory, available, allocate_host,
                                                         release_host,   pin_host,  unpin_host};
  const std::pair<const char*, const void*> own[] = {{QUENCH_MODEL_GRADIENT, &kGradient},
                                                     {QUENCH_MODEL_DEVICE_MEMORY, &kMemory}};
  for (const auto& [name, functions] : own) {
    if (std::strcmp(id, name) == 0) {
      return near.extension(model, id) != nullptr || functions == &kMemory ? functions : nullptr;
    }
  }
  return near.extension(model, id);
}

const quench_module* near_module = nullptr;

quench_status init(const quench_host* host, quench_error* error) noexcept {
  return near_module->init(host, error);
}

// The host looks at the table before it calls `init`.
void load() {
  void* library = dlopen(DISTANT_FROM, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return;  // the empty table is refused
  }
  near_module = reinterpret_cast<const quench_module* (*)()>(dlsym(library, "quench_module_v1"))();
  near = *static_cast<const quench_model_table*>(near_module->items[0]->table);
  table = near;
  table.probe = probe;
  table.info = info;
  table.close = close;
  table.allocate = allocate;
  table.release = release;
  table.copy = copy;
  table.embed = embed;
  table.stage = stage;
  table.token_nll = token_nll;
  table.logits = logits;
  table.weight_get = weight_get;
  table.weight_set = weight_set;
  table.set_linear_op = set_linear_op;
  table.head_rows = head_rows;
  table.extension = extension;
  table.set_cache_op = nullptr;  // tensors of its own memory would come here as they are
  table.block_gradient = nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const quench_module* quench_module_v1(
    void) noexcept {
  static const quench_item kItem = {.struct_size = sizeof(quench_item),
                                    .flags = 0,
                                    .kind = QUENCH_KIND_MODEL,
                                    .id = DISTANT_ID,
                                    .version = "1.0.0",
                                    .summary = "Llama, in memory that only it can reach.",
                                    .reference = nullptr,
                                    .example = nullptr,
                                    .parameter_count = 0,
                                    .parameters = nullptr,
                                    .table = &table,
                                    .presets_json = nullptr,
                                    .model_types = DISTANT_ID};
  static const quench_item* const kItems[] = {&kItem};
  static const quench_module kModule = {.struct_size = sizeof(quench_module),
                                        .abi_major = QUENCH_ABI_MAJOR,
                                        .abi_minor = QUENCH_ABI_MINOR,
                                        .min_host_minor = 0,
                                        .id = "test." DISTANT_ID,
                                        .version = "1.0.0",
                                        .build = "by hand",
                                        .init = init,
                                        .shutdown = nullptr,
                                        .item_count = 1,
                                        .items = kItems};
  if (near_module == nullptr) {
    load();
  }
  return &kModule;
}
