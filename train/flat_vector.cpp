#include "train/flat_vector.hpp"

#include <algorithm>

#include "core/arithmetic/gradient_clipping.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/services/host_services.hpp"
#include "train/gradient_norm.hpp"
#include "train/host_view.hpp"

namespace quench {

const quench_model_vectors* device_vectors(const ModelHandle& model) {
  if (model.info().device.type == QUENCH_DEVICE_CPU || !model.has_own_memory()) {
    return nullptr;
  }
  const auto* table =
      static_cast<const quench_model_vectors*>(model.extension(QUENCH_MODEL_VECTORS));
  return table != nullptr && table->struct_size >= sizeof *table ? table : nullptr;
}

void clear(ModelHandle& model, const quench_model_vectors* on_device, const quench_tensor& vector) {
  if (on_device == nullptr) {
    std::fill_n(static_cast<float*>(vector.data), vector.shape[0], 0.0F);
    return;
  }
  call<&quench_model_vectors::fill>(model.label(), *on_device, {}, model.get(), 0.0, &vector);
}

FlatVector::FlatVector(ModelHandle& model, const quench_model_vectors* on_device, uint64_t size)
    : model_(model), on_device_(on_device), size_(static_cast<int64_t>(size)) {
  if (on_device_ == nullptr) {
    values_.resize(size);
    return;
  }
  memory_ = model_.allocate(std::max<uint64_t>(size, 1) * sizeof(float));
  try {
    clear();
  } catch (...) {
    model_.release(memory_);
    throw;
  }
}

FlatVector::~FlatVector() {
  if (on_device_ != nullptr) {
    model_.release(memory_);
  }
}

quench_tensor FlatVector::view() const {
  if (on_device_ == nullptr) {
    return {const_cast<float*>(values_.data()),
            {QUENCH_DEVICE_CPU, 0},
            1,
            kFloat32,
            &size_,
            nullptr,
            0};
  }
  return {memory_, model_.info().device, 1, kFloat32, &size_, nullptr, 0};
}

void FlatVector::clear() {
  quench::clear(model_, on_device_, view());
}

double FlatVector::norm() const {
  if (on_device_ == nullptr) {
    return gradient_norm(values_, HostServices::instance().threads());
  }
  const quench_tensor of = view();
  double square = 0;
  call<&quench_model_vectors::dot>(model_.label(), *on_device_, {}, model_.get(), &of, &of,
                                   &square);
  return norm_of_sums({&square, 1});
}

std::span<const float> FlatVector::read() {
  if (on_device_ != nullptr) {
    values_.resize(size());
    const HostView to(values_.data(), kFloat32, {size_});
    model_.copy(view(), to.get());
  }
  return values_;
}

void FlatVector::write(uint64_t first, std::span<const float> values) {
  if (on_device_ == nullptr) {
    std::copy(values.begin(), values.end(), values_.begin() + static_cast<int64_t>(first));
    return;
  }
  const auto count = static_cast<int64_t>(values.size());
  const HostView from(values.data(), kFloat32, {count});
  quench_tensor to = view();
  to.data = static_cast<float*>(memory_) + first;
  to.shape = &count;
  model_.copy(from.get(), to);
}

}  // namespace quench
