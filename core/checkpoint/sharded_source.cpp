#include "core/checkpoint/sharded_source.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/wrapped_names.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kMaxIndexBytes = uint64_t{64} << 20;
constexpr size_t kMaxShards = 10'000;

// Tensor name to shard name, all shard names checked.
std::map<std::string, std::string> read_weight_map(const fs::path& index) {
  const std::string path = index.string();
  const json root = parse_json(read_file(index, kMaxIndexBytes), path);
  const auto map = root.is_object() ? root.find("weight_map") : root.end();
  if (map == root.end() || !map->is_object() || map->empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no weight_map, wanted an object of tensor and file names",
         path);
  }
  std::vector<std::string> names;
  std::vector<std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !is_plain_file_name(file.get_ref<const std::string&>())) {
      fail(QUENCH_INVALID_ARGUMENT,
           "{}: tensor '{}' is in {}, wanted the plain name of a file in the same folder", path,
           printable(tensor), file.is_string() ? printable(file.dump()) : file.type_name());
    }
    names.push_back(tensor);
    files.push_back(file.get<std::string>());
  }
  unwrap_names(names);
  std::map<std::string, std::string> out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!out.emplace(names[i], files[i]).second) {
      fail(QUENCH_INVALID_ARGUMENT,
           "{}: two tensors are called '{}' without \"module.\" and \"_orig_mod.\"", path,
           printable(names[i]));
    }
  }
  return out;
}

std::shared_ptr<const TensorSource> open_shard(const fs::path& file,
                                               const ShardedSource::OpenShard& open) {
  if (file.extension() == ".safetensors") {
    return std::make_shared<SafetensorsSource>(file);
  }
  if (!open) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: a shard of safetensors ends in .safetensors", file.string());
  }
  return open(file);
}

}  // namespace

bool is_plain_file_name(std::string_view name) {
  const bool controls = std::any_of(name.begin(), name.end(), [](char byte) {
    return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
  });
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." && !controls &&
         name.find_first_of("/\\") == std::string_view::npos;
}

ShardedSource::ShardedSource(const fs::path& index, const OpenShard& open)
    : TensorSource(index.string()) {
  const std::map<std::string, std::string> weight_map = read_weight_map(index);
  std::map<std::string, size_t> shards;
  for (const auto& [tensor, file] : weight_map) {
    shards.emplace(file, 0);
  }
  if (shards.size() > kMaxShards) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} shards, at most {} are read", description(),
         shards.size(), kMaxShards);
  }
  for (const auto& [file, unused] : shards) {
    files_.push_back(index.parent_path() / file);
    if (!exists_at(files_.back())) {
      fail(QUENCH_NOT_FOUND, "{}: shard '{}' is missing", description(), printable(file));
    }
  }
  for (const fs::path& file : files_) {
    const uint64_t base = count();
    shards_.push_back(open_shard(file, open));
    const TensorSource& shard = *shards_.back();
    for (uint64_t i = 0; i < shard.count(); ++i) {
      TensorInfo tensor = shard.info(i);
      const std::string name = printable(tensor.name);
      const auto listed = weight_map.find(tensor.name);
      if (listed == weight_map.end()) {
        fail(QUENCH_INVALID_ARGUMENT, "{}: shard '{}' holds tensor '{}', which is not listed",
             description(), printable(file.filename().string()), name);
      }
      if (listed->second != file.filename()) {
        fail(QUENCH_INVALID_ARGUMENT, "{}: tensor '{}' is in shard '{}', but listed in '{}'",
             description(), name, printable(file.filename().string()), printable(listed->second));
      }
      tensor.shared_with += base;
      places_.emplace_back(shards_.size() - 1, i);
      add(std::move(tensor));
    }
  }
  for (const auto& [tensor, file] : weight_map) {
    if (!find(tensor)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: tensor '{}' is listed in shard '{}', which lacks it",
           description(), printable(tensor), printable(file));
    }
  }
}

void ShardedSource::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                                  void* destination) const {
  const auto& [shard, place] = places_[index];
  shards_[shard]->read(place, first, elements, destination);
}

}  // namespace quench
