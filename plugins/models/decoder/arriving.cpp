#include "models/decoder/arriving.hpp"

#include <ATen/ops/empty.h>

#include "models/decoder/weights.hpp"

namespace quench::decoder {

Arriving::Arriving(at::Device device)
    : turns_{Turn{CopyQueue(device), {}}, Turn{CopyQueue(device), {}}} {}

// Where a read failed, a copy may still write to a weight that is given up.
Arriving::~Arriving() {
  try {
    finish();
  } catch (const c10::Error&) {  // of the device, which tells it again when it is asked next
  }
}

at::Tensor Arriving::host_piece(at::Tensor& bytes, at::ScalarType type, int64_t length,
                                bool pinned) const {
  const auto wanted = static_cast<int64_t>(kElements * c10::elementSize(type));
  if (!bytes.defined() || bytes.numel() < wanted) {
    bytes = at::empty({wanted}, at::TensorOptions(at::kByte).pinned_memory(pinned));
  }
  return bytes.view(type).narrow(0, 0, length);
}

void Arriving::bring(const at::Tensor& to, at::ScalarType stored,
                     const std::function<void(const at::Tensor& piece)>& read) {
  const at::ScalarType type = to.scalar_type();
  const int64_t length = to.size(0);
  if (to.is_cpu()) {
    if (stored == type) {
      read(to);
      return;
    }
    const at::Tensor piece = host_piece(staging_, stored, length, /*pinned=*/false);
    read(piece);
    convert(piece, to);
    return;
  }
  Turn& turn = turns_[turn_];
  turn_ = 1 - turn_;
  // The narrower of both types crosses.
  const bool widens = c10::elementSize(stored) < c10::elementSize(type);
  const at::ScalarType crossing = widens ? stored : type;
  turn.queue.wait();  // for the piece before the last, which lies there
  const at::Tensor pinned = host_piece(turn.pinned, crossing, length, /*pinned=*/true);
  if (stored == crossing) {
    read(pinned);
  } else {
    const at::Tensor piece = host_piece(staging_, stored, length, /*pinned=*/false);
    read(piece);
    convert(piece, pinned);
  }
  const at::Tensor arrived = widens ? at::empty({length}, to.options().dtype(crossing)) : to;
  turn.queue.follow();
  turn.queue.copy(pinned, arrived);
  if (widens) {
    turn.queue.join();
    to.copy_(arrived);
  }
}

void Arriving::finish() {
  for (Turn& turn : turns_) {
    turn.queue.join();
    turn.queue.wait();
  }
}

}  // namespace quench::decoder
