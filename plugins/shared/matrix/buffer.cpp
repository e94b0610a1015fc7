#include "shared/matrix/buffer.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace quench::matrix {

namespace {

constexpr std::align_val_t kLine{64};
constexpr size_t kBlocks = 16;                   // blocks kept at most
constexpr int64_t kLargest = int64_t{32} << 20;  // largest block that is kept, in bytes
constexpr int64_t kSlack = 4;                    // the smallest request a block serves is 1/kSlack

struct Block {
  void* data;
  int64_t bytes;
};

// Blocks that are not in use.
class Kept {
 public:
  ~Kept() {
    for (const Block& block : blocks_) {
      ::operator delete(block.data, kLine);
    }
  }

  // The smallest block that fits, or none.
  Block take(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    auto best = blocks_.end();
    for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
      if (it->bytes >= bytes && it->bytes / kSlack <= bytes &&
          (best == blocks_.end() || it->bytes < best->bytes)) {
        best = it;
      }
    }
    if (best == blocks_.end()) {
      return {nullptr, 0};
    }
    const Block block = *best;
    blocks_.erase(best);
    return block;
  }

  bool keep(const Block& block) {
    const std::lock_guard lock(mutex_);
    if (blocks_.size() >= kBlocks || block.bytes > kLargest) {
      return false;
    }
    blocks_.push_back(block);
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

Kept& kept() {
  static Kept blocks;
  return blocks;
}

}  // namespace

Buffer::Buffer(int64_t bytes) {
  Block block = kept().take(std::max<int64_t>(1, bytes));
  if (block.data == nullptr) {
    block = {::operator new(static_cast<size_t>(std::max<int64_t>(1, bytes)), kLine),
             std::max<int64_t>(1, bytes)};
  }
  data_ = block.data;
  bytes_ = block.bytes;
}

Buffer::~Buffer() {
  if (!kept().keep({data_, bytes_})) {
    ::operator delete(data_, kLine);
  }
}

}  // namespace quench::matrix
