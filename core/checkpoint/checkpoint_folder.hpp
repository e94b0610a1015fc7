// A checkpoint on disk: weights and config.
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

// A file inside another file.
struct CarriedFile {
  std::string name;
  std::string bytes;
};

struct CheckpointFolder {
  std::filesystem::path path;  // the folder
  // Text of config.json, "" if there is none; if a format read the weights, the text that it made
  // of it.
  std::string config_json;
  std::shared_ptr<const TensorSource> source;
  std::optional<CarriedFile> carried_tokenizer;  // inside the file of the weights
  std::vector<std::filesystem::path> files;      // the files of the weights, and their index
  // How the weights are stored as codes: {"format": id, "bits": ...}; `source` then yields the
  // dequantized weights. Null for float weights.
  nlohmann::json quantization;
};

// Tensors and the files that hold them.
struct TensorFiles {
  std::shared_ptr<const TensorSource> source;
  std::vector<std::filesystem::path> files;
};

// The safetensors files of a place: the named file, else model.safetensors, else
// model.safetensors.index.json with its shards. Nothing if there are none. Throws what the readers
// throw.
std::optional<TensorFiles> open_safetensors(const CheckpointPlace& place);
// Whether the place has safetensors files.
bool has_safetensors(const CheckpointPlace& place);

// The folder of a place without its weights.
CheckpointFolder folder_of(const CheckpointPlace& place);

// Opens a folder of float weights that quench wrote. Throws Error: NOT_FOUND listing what exists,
// and what the readers throw.
CheckpointFolder open_safetensors_folder(const std::filesystem::path& path);

}  // namespace quench
