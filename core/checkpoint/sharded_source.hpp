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

  // Opens the shards that the index names; they must be in its folder under plain names. Index and
  // shards must agree completely: no missing file, no tensor in two shards, in another shard than
  // listed, or unlisted. `open` reads shards that do not end in .safetensors. Throws Error like the
  // readers; checks everything before reading a tensor.
  explicit ShardedSource(const std::filesystem::path& index, const OpenShard& open = {});

  const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

  std::vector<std::filesystem::path> files_;
  std::vector<std::shared_ptr<const TensorSource>> shards_;
  std::vector<std::pair<size_t, uint64_t>> places_;  // shard, index in it
};

// Whether `name` stays in its folder: no '/', no '\', no "..", no control characters.
bool is_plain_file_name(std::string_view name);

}  // namespace quench
