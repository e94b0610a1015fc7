// Writes weights into one safetensors file, or into shards with an index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/safetensors_writer.hpp"
#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// Larger weights are sharded, as by the hub's tools.
inline constexpr uint64_t kShardBytes = 5'000'000'000;

// Writes model.safetensors, or shards of at most `shard_bytes` each (a larger tensor gets its own)
// with model.safetensors.index.json, tensor by tensor, and enters the files in `list`. Throws what
// SafetensorsWriter throws.
class ShardedWriter {
 public:
  // `order`: indices into `tensors`, each at most once; tensors not listed are not written. The
  // caller keeps `tensors`, `order` and `list` alive.
  ShardedWriter(std::filesystem::path folder, const TensorSource& tensors,
                const std::vector<uint64_t>& order, WrittenFiles& list,
                uint64_t shard_bytes = kShardBytes);

  uint64_t total_bytes() const { return total_; }
  // Appends the next bytes of the tensor; tensors come in the constructor's order.
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
