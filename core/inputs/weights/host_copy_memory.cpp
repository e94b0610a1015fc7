#include "core/inputs/weights/host_copy_memory.hpp"

#include <algorithm>
#include <cstddef>

#include "core/base/io/tensor_memory.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/table_call.hpp"

namespace quench {

HostCopyMemory::HostCopyMemory(ModelHandle& model, uint64_t bytes)
    : model_(model), table_(device_memory_of(model)) {
  const uint64_t wanted = std::max<uint64_t>(64, bytes);
  if (table_ != nullptr) {
    call<&quench_model_device_memory::allocate_host>(model_.label(), *table_, {}, model_.get(),
                                                     wanted, &data_);
    return;
  }
  data_ = allocate_tensor_memory(wanted);
  if (data_ == nullptr) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "no memory for {} bytes of activations", wanted);
  }
}

HostCopyMemory::~HostCopyMemory() {
  if (table_ == nullptr) {
    release_tensor_memory(data_);
  } else if (model_.is_alive()) {
    call<&quench_model_device_memory::release_host>(model_.label(), *table_, {}, model_.get(),
                                                    data_);
  }
}

const quench_model_device_memory* device_memory_of(const ModelHandle& model) {
  const auto* table =
      static_cast<const quench_model_device_memory*>(model.extension(QUENCH_MODEL_DEVICE_MEMORY));
  constexpr size_t kNeeded = offsetof(quench_model_device_memory, pin_host);
  return table != nullptr && table->struct_size >= kNeeded ? table : nullptr;
}

uint64_t free_device_bytes(ModelHandle& model) {
  const quench_model_device_memory* table = device_memory_of(model);
  if (table == nullptr) {
    return UINT64_MAX;
  }
  uint64_t free = 0;
  uint64_t total = 0;
  call<&quench_model_device_memory::available>(model.label(), *table, {}, model.get(), &free,
                                               &total);
  return free;
}

}  // namespace quench
