#include "core/checkpoint/sharded_writer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

ShardedWriter::ShardedWriter(std::filesystem::path folder, const TensorSource& tensors,
                             const std::vector<uint64_t>& order, WrittenFiles& list,
                             uint64_t shard_bytes)
    : folder_(std::move(folder)), tensors_(tensors), list_(list), shard_of_(tensors.count()) {
  uint64_t filled = 0;
  for (const uint64_t index : order) {
    const TensorInfo& tensor = tensors.info(index);
    const uint64_t bytes = *element_count(tensor.shape) * dtype_size(tensor.dtype);
    if (shards_.empty() || (filled > 0 && bytes > shard_bytes - std::min(shard_bytes, filled))) {
      shards_.emplace_back();
      filled = 0;
    }
    shards_.back().push_back(index);
    shard_of_[index] = shards_.size() - 1;
    filled += bytes;
    total_ += bytes;
  }
}

void ShardedWriter::write(uint64_t index, const void* data, uint64_t bytes) {
  if (!writer_ || shard_of_[index] != open_) {
    finish_shard();
    open_shard();
  }
  writer_->write(data, bytes);
}

void ShardedWriter::write_all() {
  constexpr uint64_t kPieceBytes = uint64_t{8} << 20;
  std::vector<char> piece;
  for (const std::vector<uint64_t>& shard : shards_) {
    for (const uint64_t index : shard) {
      const TensorInfo& tensor = tensors_.info(index);
      const uint64_t size = dtype_size(tensor.dtype);
      const uint64_t total = *element_count(tensor.shape);
      for (uint64_t first = 0; first < total;) {
        const uint64_t elements = std::min(total - first, kPieceBytes / size);
        piece.resize(elements * size);
        tensors_.read(index, first, elements, piece.data());
        write(index, piece.data(), piece.size());
        first += elements;
      }
    }
  }
}

void ShardedWriter::finish() {
  finish_shard();
  while (opened_ < shards_.size()) {  // shards of empty tensors only
    open_shard();
    finish_shard();
  }
  if (shards_.size() > 1) {
    write_index();
  }
}

std::string ShardedWriter::file_name(size_t shard) const {
  return shards_.size() <= 1
             ? "model.safetensors"
             : fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards_.size());
}

void ShardedWriter::open_shard() {
  open_ = opened_++;
  writer_.emplace(folder_ / file_name(open_), std::map<std::string, std::string>{{"format", "pt"}},
                  &list_);
  for (const uint64_t index : shards_[open_]) {
    writer_->declare(tensors_.info(index));
  }
}

void ShardedWriter::finish_shard() {
  if (writer_) {
    writer_->finish();
    writer_.reset();
  }
}

void ShardedWriter::write_index() const {
  nlohmann::json map = nlohmann::json::object();
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    for (const uint64_t index : shards_[shard]) {
      map[tensors_.info(index).name] = file_name(shard);
    }
  }
  const nlohmann::json document = {{"metadata", {{"total_size", total_}}}, {"weight_map", map}};
  write_file_atomically(folder_ / "model.safetensors.index.json", document.dump(2) + "\n", &list_);
}

}  // namespace quench
