#include "core/plugin/device_copies.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "core/plugin/table_call.hpp"

namespace quench {

namespace {

struct Copier {
  const quench_model_table* table;
  quench_model* model;
  quench_device device;
};

struct Copiers {
  std::mutex mutex;
  std::vector<Copier> list;
};

Copiers& copiers() {
  static Copiers all;
  return all;
}

bool is_on(const quench_tensor& tensor, quench_device device) {
  return tensor.device.type == device.type && tensor.device.index == device.index;
}

// The model that was opened last on the device of either.
Copier copier_of(const quench_tensor& from, const quench_tensor& to) {
  Copiers& all = copiers();
  const std::lock_guard lock(all.mutex);
  const auto found = std::find_if(all.list.rbegin(), all.list.rend(), [&](const Copier& each) {
    return is_on(from, each.device) || is_on(to, each.device);
  });
  if (found == all.list.rend()) {
    const bool reads = from.device.type != QUENCH_DEVICE_CPU;
    fail(QUENCH_UNSUPPORTED, "a copy {} cuda:{}, where no model is open", reads ? "from" : "to",
         (reads ? from : to).device.index);
  }
  return *found;
}

}  // namespace

DeviceCopies::DeviceCopies(const quench_model_table* table, quench_model* model,
                           quench_device device) {
  if (device.type == QUENCH_DEVICE_CPU) {
    return;
  }
  Copiers& all = copiers();
  const std::lock_guard lock(all.mutex);
  all.list.push_back({table, model, device});
  model_ = model;
}

DeviceCopies::~DeviceCopies() {
  if (model_ == nullptr) {
    return;
  }
  Copiers& all = copiers();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.list, [this](const Copier& each) { return each.model == model_; });
}

DeviceCopies::DeviceCopies(DeviceCopies&& other) noexcept
    : model_(std::exchange(other.model_, nullptr)) {}

DeviceCopies& DeviceCopies::operator=(DeviceCopies&& other) noexcept {
  std::swap(model_, other.model_);
  return *this;
}

void copy_on_device(const quench_tensor& from, const quench_tensor& to) {
  const Copier by = copier_of(from, to);
  table_call("a copy for a plugin in a process of its own", "copy", by.table->copy, by.model, &from,
             &to, nullptr);
}

}  // namespace quench
