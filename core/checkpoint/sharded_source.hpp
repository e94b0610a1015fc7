// A checkpoint in several files with an index (model.safetensors.index.json,
// pytorch_model.bin.index.json).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"

namespace quench {

class ShardedSource final : public TensorSource {
 public:
  // Opens the shards named by the index, which must lie beside it under plain names. The index and
  // the shards must agree completely: no missing file, no tensor in two shards, none in another
  // shard than named, none left out. Shards are safetensors or torch archives by their ending.
  // Throws Error as their readers do; everything is checked before a tensor is read.
  explicit ShardedSource(const std::filesystem::path& index);

  const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

  std::vector<std::filesystem::path> files_;
  std::vector<std::unique_ptr<TensorSource>> shards_;
  std::vector<std::pair<size_t, uint64_t>> places_;  // shard, index in it
};

// Is `name` a file name that stays in its folder: no '/', no '\', no "..", no control characters?
bool is_plain_file_name(std::string_view name);

// The reader for one file: safetensors by its ending, else a torch archive.
std::unique_ptr<TensorSource> open_tensor_file(const std::filesystem::path& path);

}  // namespace quench
