#include "models/decoder/residence.hpp"

#include <ATen/ops/empty.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <atomic>
#include <charconv>

#include "quench/kit/error.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

std::atomic<int>& living() {
  static std::atomic<int> count = 0;
  return count;
}

bool has_memory(const at::Tensor& tensor) {
  return tensor.storage().data() != nullptr;
}

void leave(const at::Tensor& on_device) {
  on_device.storage().set_data_ptr(c10::DataPtr(nullptr, on_device.device()));
}

void take_memory(const at::Tensor& on_device) {
  const at::Tensor fresh = at::empty(on_device.sizes(), on_device.options());
  on_device.storage().set_data_ptr(
      fresh.storage().set_data_ptr(c10::DataPtr(nullptr, fresh.device())));
}

}  // namespace

std::optional<uint32_t> block_of(std::string_view weight) {
  for (size_t begin = 0; begin < weight.size();) {
    const size_t end = std::min(weight.find('.', begin), weight.size());
    uint32_t number = 0;
    const auto [past, fault] = std::from_chars(weight.data() + begin, weight.data() + end, number);
    if (fault == std::errc() && past == weight.data() + end) {
      return number;
    }
    begin = end + 1;
  }
  return std::nullopt;
}

bool comes_by_block(at::Device device, uint64_t bytes) {
  if (living().load() > 0) {
    return true;
  }
  if (device.is_cpu()) {
    return false;
  }
  const size_t free = c10::getDeviceAllocator(device.type())->getMemoryInfo(device.index()).first;
  return bytes > free / 4 * 3;
}

ByBlock::ByBlock() {
  ++living();
}

ByBlock::~ByBlock() {
  --living();
}

VisitingWeights::Made VisitingWeights::make(uint32_t block, at::IntArrayRef shape,
                                            at::ScalarType type, at::Device device) {
  const at::TensorOptions options(type);
  Made made{at::empty(shape, options.device(device)),
            device.is_cpu() ? kit::host_empty(shape, type)
                            : at::empty(shape, options.pinned_memory(true))};
  leave(made.on_device);
  if (!queue_) {
    queue_.emplace(device);
  }
  if (block >= blocks_.size()) {
    blocks_.resize(block + 1);
  }
  blocks_[block].weights.push_back(made);
  return made;
}

void VisitingWeights::enter(uint32_t block) {
  if (resident_ == block || block >= blocks_.size()) {
    return;
  }
  const bool backwards = resident_ == block + 1;
  send_away(resident_);
  if (coming_ != block) {
    send_away(coming_);
    bring(block);
  }
  queue_->join();
  coming_.reset();
  resident_ = block;
  const std::optional<uint32_t> next = follower(block, backwards);
  if (!next || alone_) {
    return;
  }
  try {
    bring(*next);
  } catch (const c10::OutOfMemoryError&) {
    alone_ = true;  // it comes when its turn is there
  }
}

void VisitingWeights::bring(uint32_t block) {
  coming_ = block;
  try {
    for (const Made& weight : blocks_[block].weights) {
      take_memory(weight.on_device);
    }
  } catch (...) {
    send_away(coming_);
    throw;
  }
  queue_->follow();
  for (const Made& weight : blocks_[block].weights) {
    queue_->copy(weight.home, weight.on_device);
  }
}

void VisitingWeights::send_away(std::optional<uint32_t>& block) {
  if (block) {
    queue_->join();  // its memory may be another's next
    for (const Made& weight : blocks_[*block].weights) {
      leave(weight.on_device);
    }
  }
  block.reset();
}

std::optional<uint32_t> VisitingWeights::follower(uint32_t block, bool backwards) const {
  const auto count = static_cast<uint32_t>(blocks_.size());
  for (uint32_t step = 1; step < count; ++step) {
    const uint32_t next = (block + (backwards ? count - step : step)) % count;
    if (!blocks_[next].weights.empty()) {
      return next;
    }
  }
  return std::nullopt;
}

void VisitingWeights::settle() {
  if (queue_) {
    queue_->wait();
  }
}

void VisitingWeights::refresh(const at::Tensor& on_device, const at::Tensor& home) {
  if (has_memory(on_device)) {
    on_device.copy_(home);
  }
}

}  // namespace quench::decoder
