// Where the weights of a model lie: all on its device or, of a model that is too large for that,
// those of the block that computes and of the next.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/decoder/copy_queue.hpp"

namespace quench::decoder {

// The block that a weight belongs to by its name, such as 3 for "model.layers.3.mlp.up.weight"; of
// embedding, head and last norm none.
std::optional<uint32_t> block_of(std::string_view weight);

// Whether `bytes` of weights are to come block by block: on a GPU, if they would take more than
// three quarters of what is free there. The rest is for activations and the states of quantizers.
bool comes_by_block(at::Device device, uint64_t bytes);

// While one lives, models that are opened come block by block wherever they are. For tests: host
// memory then stands for the device's, too.
class ByBlock {
 public:
  ByBlock();
  ByBlock(const ByBlock&) = delete;
  ByBlock& operator=(const ByBlock&) = delete;
  ~ByBlock();
};

// The weights of blocks: at home in host memory, and on the device while their block computes. The
// block that follows it (the first follows the last) is brought meanwhile, unless there is no
// memory for two; where blocks are entered from the last to the first, the one before it.
class VisitingWeights {
 public:
  // Makes the two tensors of a weight, all on the same `device`. `on_device` has shape and device,
  // and memory only while the block is there; views of it follow. `home` is pinned if the device is
  // a GPU.
  struct Made {
    at::Tensor on_device;
    at::Tensor home;
  };
  Made make(uint32_t block, at::IntArrayRef shape, at::ScalarType type, at::Device device);

  // What the device is told from now on finds the weights of `block` there. Sends all others away,
  // then begins to bring those of the next block.
  void enter(uint32_t block);
  // Call before `home` of a weight changes: it may be on its way. Then, after that, refresh().
  void settle();
  void refresh(const at::Tensor& on_device, const at::Tensor& home);

 private:
  struct Block {
    std::vector<Made> weights;
  };
  void bring(uint32_t block);
  void send_away(std::optional<uint32_t>& block);
  // The next block that has weights, in a circle; none if that is `block` itself.
  std::optional<uint32_t> follower(uint32_t block, bool backwards) const;

  std::vector<Block> blocks_;
  std::optional<CopyQueue> queue_;
  std::optional<uint32_t> resident_;
  std::optional<uint32_t> coming_;
  bool alone_ = false;  // there was no memory for two blocks
};

}  // namespace quench::decoder
