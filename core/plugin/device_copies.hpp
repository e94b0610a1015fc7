// Copies to and from the memory of devices, by the families whose models are open there: the host
// itself knows no device.
#pragma once

#include "quench/abi/kind/model.h"

namespace quench {

// While one lives, `model` copies for its device. Of a model in host memory it does nothing.
class DeviceCopies {
 public:
  DeviceCopies() = default;
  DeviceCopies(const quench_model_table* table, quench_model* model, quench_device device);
  ~DeviceCopies();
  DeviceCopies(DeviceCopies&& other) noexcept;
  DeviceCopies& operator=(DeviceCopies&& other) noexcept;

 private:
  quench_model* model_ = nullptr;
};

// Copies between views of equal shape and dtype, of which one or both lie on a device. Throws
// Error(UNSUPPORTED) if no model is open there, else whatever its family throws. A model does one
// thing at a time: call where a plugin in this process would be called.
void copy_on_device(const quench_tensor& from, const quench_tensor& to);

}  // namespace quench
