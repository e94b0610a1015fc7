// Weights in one safetensors file, or in shards with their index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/safetensors_writer.hpp"
#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// More than this is split, as the hub's tools do.
inline constexpr uint64_t kShardBytes = 5'000'000'000;

// model.safetensors, or shards of at most `shard_bytes` each (a larger tensor has its own) with
// model.safetensors.index.json, written tensor by tensor and entered in `list`. Throws what
// SafetensorsWriter throws.
class ShardedWriter {
 public:
  // `order`: indices into `tensors`, each once; what is left out is not written. Both are
  // borrowed, and `list`.
  ShardedWriter(std::filesystem::path folder, const TensorSource& tensors,
                const std::vector<uint64_t>& order, WrittenFiles& list,
                uint64_t shard_bytes = kShardBytes);

  uint64_t total_bytes() const { return total_; }
  // The next bytes of the tensor, in the constructor's order.
  void write(uint64_t index, const void* data, uint64_t bytes);
  // Reads all tensors from the source and writes them.
  void write_all();
  void finish();

 private:
  std::string file_name(size_t shard) const;
  void open_shard();
  void finish_shard();
  void write_index() const;

  std::filesystem::path folder_;
  const TensorSource& tensors_;
  WrittenFiles& list_;
  std::vector<std::vector<uint64_t>> shards_;  // indices of tensors
  std::vector<size_t> shard_of_;               // [tensor]
  std::optional<SafetensorsWriter> writer_;
  size_t open_ = 0;
  size_t opened_ = 0;
  uint64_t total_ = 0;
};

}  // namespace quench
