// A model on a device, as a plugin in a process of its own sees it: one in host memory.
#pragma once

#include "core/plugin/handles/model_handle.hpp"

namespace quench {

// Every call copies its tensors to the device and back; values are the model's own.
class CopiedModel {
 public:
  // The caller keeps `model` alive.
  explicit CopiedModel(ModelHandle& model) : model_(model) {}
  CopiedModel(const CopiedModel&) = delete;
  CopiedModel& operator=(const CopiedModel&) = delete;

  // Opens and closes nothing and has no memory of its own. Extensions are those of the SDK.
  static const quench_model_table& table();
  quench_model* get() { return reinterpret_cast<quench_model*>(this); }
  ModelHandle& model() { return model_; }

 private:
  ModelHandle& model_;
};

}  // namespace quench
