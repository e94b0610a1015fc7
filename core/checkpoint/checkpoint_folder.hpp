// A checkpoint as it lies on disk: weights and config.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// A file that lies inside another one.
struct CarriedFile {
  std::string name;
  std::string bytes;
};

struct CheckpointFolder {
  std::filesystem::path path;  // the folder
  // Text of config.json, "" when there is none; what a format made of it where one read the
  // weights.
  std::string config_json;
  std::shared_ptr<const TensorSource> source;
  std::optional<CarriedFile> carried_tokenizer;  // in the file of the weights itself
  std::vector<std::filesystem::path> files;      // that hold the weights, and their index
  // Where the weights are stored as codes, how: {"format": id, "bits": ...}; `source` then yields
  // what they stand for. Null for float weights.
  nlohmann::json quantization;
};

// Tensors with the files that hold them.
struct TensorFiles {
  std::shared_ptr<const TensorSource> source;
  std::vector<std::filesystem::path> files;
};

// The safetensors files of a place: the one that was named, else model.safetensors, else
// model.safetensors.index.json with its shards. Nothing where it has none. Throws what the readers
// throw.
std::optional<TensorFiles> open_safetensors(const CheckpointPlace& place);
// Whether there are any.
bool has_safetensors(const CheckpointPlace& place);

// The folder of a place without its weights.
CheckpointFolder folder_of(const CheckpointPlace& place);

// A folder of float weights that quench wrote. Throws Error: NOT_FOUND with what is there, and what
// the readers throw.
CheckpointFolder open_safetensors_folder(const std::filesystem::path& path);

}  // namespace quench
