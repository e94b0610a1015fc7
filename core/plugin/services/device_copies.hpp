// Copies to and from the memory of devices, by the families whose models are open there: the host
// itself knows no device.
#pragma once

#include <memory>
#include <string>

#include "quench/abi/kind/model.h"

namespace quench {

class DeviceCopier;

// While one lives, `model` copies for its device, and memory that lasts
// (core/base/io/pinnable_memory.hpp) may be pinned by it. Of a model in host memory it does
// nothing.
class DeviceCopies {
 public:
  DeviceCopies();
  // `label`: "model <id>", for messages.
  DeviceCopies(std::string label, const quench_model_table* table, quench_model* model,
               quench_device device);
  ~DeviceCopies();
  DeviceCopies(DeviceCopies&& other) noexcept;
  DeviceCopies& operator=(DeviceCopies&& other) noexcept;

  // To be called before the family gets a tensor in host memory to copy from or to. Never throws: a
  // family that pins nothing copies all the same.
  void pin(const quench_tensor& tensor) const;

 private:
  std::unique_ptr<DeviceCopier> copier_;
};

// Copies between views of equal shape and dtype, of which one or both lie on a device. Throws
// Error(UNSUPPORTED) if no model is open there, else whatever its family throws. A model does one
// thing at a time: call where a plugin in this process would be called.
void copy_on_device(const quench_tensor& from, const quench_tensor& to);

}  // namespace quench
