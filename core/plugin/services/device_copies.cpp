#include "core/plugin/services/device_copies.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/io/pinnable_memory.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/services/host_services.hpp"
#include "quench/abi/extension/device_memory.h"

namespace quench {

namespace {

// Its family's functions that pin, or nullptr.
const quench_model_device_memory* pinning_of(const quench_model_table* table,
                                             const quench_model* model) {
  const auto* memory = table->extension == nullptr
                           ? nullptr
                           : static_cast<const quench_model_device_memory*>(
                                 table->extension(model, QUENCH_MODEL_DEVICE_MEMORY));
  return memory != nullptr && memory->struct_size >= sizeof *memory &&
                 memory->pin_host != nullptr && memory->unpin_host != nullptr
             ? memory
             : nullptr;
}

// Says so once in the life of the program: what one model is refused, the next one will be, too.
void say_refused(const char* why) {
  static std::atomic<bool> said = false;
  if (!said.exchange(true)) {
    HostServices::instance().log(
        QUENCH_LOG_WARNING, "",
        fmt::format("{}; copies for plugins in processes of their own take longer without it",
                    why));
  }
}

// The first byte of a tensor and the number of those up to its last one.
struct Bytes {
  const std::byte* first;
  uint64_t count;
};

Bytes bytes_of(const quench_tensor& tensor) {
  int64_t lowest = 0;
  int64_t highest = 0;
  int64_t step = 1;
  for (int32_t d = tensor.dimensions; d-- > 0;) {
    const int64_t length = tensor.shape[d];
    if (length == 0) {
      return {nullptr, 0};
    }
    const int64_t reach = (length - 1) * (tensor.strides != nullptr ? tensor.strides[d] : step);
    (reach < 0 ? lowest : highest) += reach;
    step *= length;
  }
  const auto element = static_cast<int64_t>((tensor.dtype.bits + 7u) / 8u);
  const auto* data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  return {data + lowest * element, static_cast<uint64_t>((highest - lowest + 1) * element)};
}

}  // namespace

class DeviceCopier final : public Pinner {
 public:
  DeviceCopier(std::string label, const quench_model_table* table, quench_model* model,
               quench_device device)
      : label_(std::move(label)),
        table_(table),
        model_(model),
        device_(device),
        pinning_(pinning_of(table, model)) {}

  bool has(const quench_tensor& tensor) const {
    return tensor.device.type == device_.type && tensor.device.index == device_.index;
  }

  bool pin(std::byte* data, uint64_t bytes, bool read_only) override {
    if (pinning_ == nullptr) {
      return false;
    }
    try {
      call<&quench_model_device_memory::pin_host>(label_, *pinning_, {}, model_, data, bytes,
                                                  read_only ? QUENCH_PIN_READ_ONLY : 0u);
      return true;
    } catch (const Error& refused) {
      say_refused(refused.what());
      return false;
    }
  }
  void unpin(std::byte* data) noexcept override {
    call<&quench_model_device_memory::unpin_host>(label_, *pinning_, {}, model_, data);
  }

  void pin_around(const quench_tensor& tensor) {
    if (tensor.device.type == QUENCH_DEVICE_CPU) {
      const Bytes bytes = bytes_of(tensor);
      PinnableMemory::pin_around(bytes.first, bytes.count, *this);
    }
  }
  void copy(const quench_tensor& from, const quench_tensor& to) {
    pin_around(from);
    pin_around(to);
    call<&quench_model_table::copy>("a copy for a plugin in a process of its own", *table_, {},
                                    model_, &from, &to, nullptr);
  }

 private:
  std::string label_;
  const quench_model_table* table_;
  quench_model* model_;
  quench_device device_;
  const quench_model_device_memory* pinning_;
};

namespace {

struct Copiers {
  std::mutex mutex;
  std::vector<DeviceCopier*> list;
};

Copiers& copiers() {
  static Copiers all;
  return all;
}

// The model that was opened last on the device of either.
DeviceCopier& copier_of(const quench_tensor& from, const quench_tensor& to) {
  Copiers& all = copiers();
  const std::lock_guard lock(all.mutex);
  const auto found =
      std::find_if(all.list.rbegin(), all.list.rend(),
                   [&](const DeviceCopier* each) { return each->has(from) || each->has(to); });
  if (found == all.list.rend()) {
    const bool reads = from.device.type != QUENCH_DEVICE_CPU;
    fail(QUENCH_UNSUPPORTED, "a copy {} cuda:{}, where no model is open", reads ? "from" : "to",
         (reads ? from : to).device.index);
  }
  return **found;
}

}  // namespace

DeviceCopies::DeviceCopies() = default;

DeviceCopies::DeviceCopies(std::string label, const quench_model_table* table, quench_model* model,
                           quench_device device) {
  if (device.type == QUENCH_DEVICE_CPU) {
    return;
  }
  copier_ = std::make_unique<DeviceCopier>(std::move(label), table, model, device);
  Copiers& all = copiers();
  const std::lock_guard lock(all.mutex);
  all.list.push_back(copier_.get());
}

DeviceCopies::~DeviceCopies() {
  if (copier_ == nullptr) {
    return;
  }
  {
    Copiers& all = copiers();
    const std::lock_guard lock(all.mutex);
    std::erase(all.list, copier_.get());
  }
  PinnableMemory::unpin_all(*copier_);
}

DeviceCopies::DeviceCopies(DeviceCopies&& other) noexcept = default;

DeviceCopies& DeviceCopies::operator=(DeviceCopies&& other) noexcept {
  std::swap(copier_, other.copier_);
  return *this;
}

void DeviceCopies::pin(const quench_tensor& tensor) const {
  if (copier_ != nullptr) {
    copier_->pin_around(tensor);
  }
}

void copy_on_device(const quench_tensor& from, const quench_tensor& to) {
  copier_of(from, to).copy(from, to);
}

}  // namespace quench
