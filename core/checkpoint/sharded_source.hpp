// A checkpoint in several files with an index (model.safetensors.index.json,
// pytorch_model.bin.index.json).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"

namespace quench {

class ShardedSource final : public TensorSource {
 public:
  using OpenShard =
      std::function<std::shared_ptr<const TensorSource>(const std::filesystem::path& shard)>;

  // Opens the shards named by the index, which must lie beside it under plain names. The index and
  // the shards must agree completely: no missing file, no tensor in two shards, none in another
  // shard than named, none left out. `open` reads those that do not end in .safetensors. Throws
  // Error as their readers do; everything is checked before a tensor is read.
  explicit ShardedSource(const std::filesystem::path& index, const OpenShard& open = {});

  const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

  std::vector<std::filesystem::path> files_;
  std::vector<std::shared_ptr<const TensorSource>> shards_;
  std::vector<std::pair<size_t, uint64_t>> places_;  // shard, index in it
};

// Is `name` a file name that stays in its folder: no '/', no '\', no "..", no control characters?
bool is_plain_file_name(std::string_view name);

}  // namespace quench
