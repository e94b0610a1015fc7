#include "models/decoder/copy_queue.hpp"

#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace quench::decoder {

CopyQueue::CopyQueue(at::Device device) : device_(device) {
  if (!device.is_cpu()) {
    const c10::impl::VirtualGuardImpl streams(device.type());
    lane_.emplace(Lane{streams.getStreamFromGlobalPool(device), device.type(), device.type()});
  }
}

void CopyQueue::follow() {
  if (lane_) {
    lane_->told.record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
    lane_->told.block(lane_->stream);
  }
}

void CopyQueue::copy(const at::Tensor& from, const at::Tensor& to) {
  if (!lane_) {
    to.copy_(from);
    return;
  }
  const c10::StreamGuard guard(lane_->stream);
  to.copy_(from, /*non_blocking=*/true);
  lane_->made.record(lane_->stream);
}

void CopyQueue::join() {
  if (lane_) {
    lane_->made.block(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }
}

void CopyQueue::wait() {
  if (lane_ && lane_->made.was_marked_for_recording()) {
    lane_->made.synchronize();
  }
}

}  // namespace quench::decoder
