// A flat float32 vector over all parameters of a model: in host memory, or in that of the model's
// device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plugin/handles/model_handle.hpp"
#include "quench/abi/extension/gradients.h"

namespace quench {

// The model's arithmetic on vectors in its device's memory; nullptr if it computes in host memory,
// or its family has none.
const quench_model_vectors* device_vectors(const ModelHandle& model);

// Writes zeros over a flat vector in that memory; `on_device`: as for FlatVector.
void clear(ModelHandle& model, const quench_model_vectors* on_device, const quench_tensor& vector);

class FlatVector {
 public:
  // Zeros. `on_device`: what device_vectors() said of this model, for memory of its device; nullptr
  // for host memory. The model must outlive the vector. Throws Error(RESOURCE_EXHAUSTED).
  FlatVector(ModelHandle& model, const quench_model_vectors* on_device, uint64_t size);
  ~FlatVector();
  FlatVector(const FlatVector&) = delete;
  FlatVector& operator=(const FlatVector&) = delete;

  uint64_t size() const { return static_cast<uint64_t>(size_); }
  // Valid as long as the vector.
  quench_tensor view() const;
  void clear();
  // √Σ x², summed in float64 in one order for any number of threads; in which one, the memory says.
  double norm() const;

  // The elements, or of a vector on a device a copy that is valid until the next call.
  std::span<const float> read();
  void write(uint64_t first, std::span<const float> values);

 private:
  ModelHandle& model_;
  const quench_model_vectors* on_device_;
  int64_t size_;
  std::vector<float> values_;  // in host memory; of a vector on a device the last read()
  void* memory_ = nullptr;     // on the device
};

}  // namespace quench
