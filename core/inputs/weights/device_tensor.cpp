#include "core/inputs/weights/device_tensor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

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

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t step = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

namespace {

uint64_t bytes_of(quench_dtype dtype, const std::vector<int64_t>& shape) {
  uint64_t bytes = dtype.bits / 8u;
  for (const int64_t size : shape) {
    bytes *= static_cast<uint64_t>(size);
  }
  return bytes;
}

constexpr quench_device kHost{QUENCH_DEVICE_CPU, 0};

}  // namespace

DeviceMemory::DeviceMemory(ModelHandle& model, uint64_t bytes) : model_(model), bytes_(bytes) {
  wake();
}

DeviceMemory::~DeviceMemory() {
  release();
}

void DeviceMemory::release() {
  if (model_.has_own_memory()) {
    model_.release(data_);
  } else {
    release_tensor_memory(data_);
  }
  data_ = nullptr;
}

void DeviceMemory::wake() {
  if (data_ != nullptr) {
    return;
  }
  // A zero-sized tensor still has an address; the ABI promises an alignment of 64 bytes.
  const uint64_t wanted = std::max<uint64_t>(64, (bytes_ + 63) / 64 * 64);
  if (model_.has_own_memory()) {
    data_ = model_.allocate(wanted);
  } else {
    data_ = allocate_tensor_memory(wanted);
    if (data_ == nullptr) {
      fail(QUENCH_RESOURCE_EXHAUSTED, "no memory for {} bytes of activations", wanted);
    }
  }
  if (resting_) {
    copy(resting_->data(), kHost, data_, model_.info().device);
    resting_.reset();
  }
}

void DeviceMemory::rest() {
  if (data_ == nullptr) {
    return;
  }
  resting_ = std::make_unique<HostCopyMemory>(model_, bytes_);
  copy(data_, model_.info().device, resting_->data(), kHost);
  release();
}

void DeviceMemory::copy_to(const DeviceMemory& other) const {
  if (data_ != nullptr) {
    copy(data_, model_.info().device, other.data_, model_.info().device);
  } else {
    copy(resting_->data(), kHost, other.data_, model_.info().device);
  }
}

void DeviceMemory::copy(const void* from, quench_device from_device, void* to,
                        quench_device to_device) const {
  if (!model_.has_own_memory()) {
    std::memcpy(to, from, bytes_);
    return;
  }
  const int64_t shape = static_cast<int64_t>(bytes_);
  const int64_t stride = 1;
  const quench_dtype byte{QUENCH_DTYPE_UINT, 8, 1};
  model_.copy({const_cast<void*>(from), from_device, 1, byte, &shape, &stride, 0},
              {to, to_device, 1, byte, &shape, &stride, 0});
}

DeviceTensor::DeviceTensor(ModelHandle& model, quench_dtype dtype,
                           const std::vector<int64_t>& shape)
    : DeviceTensor(std::make_shared<DeviceMemory>(model, bytes_of(dtype, shape)),
                   model.info().device, dtype, shape) {}

DeviceTensor::DeviceTensor(std::shared_ptr<DeviceMemory> memory, quench_device device,
                           quench_dtype dtype, std::vector<int64_t> shape)
    : memory_(std::move(memory)),
      device_(device),
      dtype_(dtype),
      shape_(std::move(shape)),
      strides_(contiguous_strides(shape_)) {}

quench_tensor DeviceTensor::view() const {
  return {memory_->data(), device_, static_cast<int32_t>(shape_.size()), dtype_, shape_.data(),
          strides_.data(), 0};
}

HostTensor on_host(ModelHandle& model, const quench_tensor& from) {
  HostTensor out(from.dtype, {from.shape, from.shape + from.dimensions});
  if (from.device.type != QUENCH_DEVICE_CPU) {
    model.copy(from, out.view());
  } else {
    std::memcpy(out.bytes().data(), static_cast<const std::byte*>(from.data) + from.byte_offset,
                out.bytes().size());
  }
  return out;
}

DeviceTensor rows_at(ModelHandle& model, const quench_tensor& from,
                     std::span<const uint64_t> places, uint64_t each) {
  const int64_t width = from.shape[1];
  DeviceTensor out(model, from.dtype, {static_cast<int64_t>(places.size() * each), width});
  const uint64_t row_bytes = static_cast<uint64_t>(width) * (from.dtype.bits / 8u);
  for (size_t first = 0, end = 0; first < places.size(); first = end) {
    end = first + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) {
      ++end;
    }
    const int64_t shape[2] = {static_cast<int64_t>((end - first) * each), width};
    const auto run = [&](const quench_tensor& matrix, uint64_t row) {
      quench_tensor view = matrix;
      view.shape = shape;
      view.data = static_cast<char*>(matrix.data) + row * row_bytes;
      return view;
    };
    const quench_tensor source = run(from, places[first] * each);
    const quench_tensor target = run(out.view(), first * each);
    if (from.device.type == QUENCH_DEVICE_CPU) {
      std::memcpy(target.data, source.data, (end - first) * each * row_bytes);
    } else {
      model.copy(source, target);
    }
  }
  return out;
}

}  // namespace quench
