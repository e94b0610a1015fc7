// Where the weights of a model lie: all on its device or, of a model that is too large for that,
// those of one block at a time.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

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

// The weights of blocks: at home in host memory, and on the device while their block is the one
// that computes.
class VisitingWeights {
 public:
  // Makes the two tensors of a weight. `on_device` has shape and device, and memory only while the
  // block is resident; views of it follow. `home` is pinned if the device is a GPU.
  struct Made {
    at::Tensor on_device;
    at::Tensor home;
  };
  Made make(uint32_t block, at::IntArrayRef shape, at::ScalarType type, at::Device device);

  // Brings the weights of a block to the device, after those of the last one have left.
  void enter(uint32_t block);
  // Call after `home` of a weight has changed.
  void refresh(const at::Tensor& on_device, const at::Tensor& home);

 private:
  struct Block {
    std::vector<Made> weights;
  };
  std::vector<Block> blocks_;
  std::optional<uint32_t> resident_;
};

}  // namespace quench::decoder
