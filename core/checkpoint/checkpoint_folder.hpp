// A checkpoint as it lies on disk: weights and config.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/packed/quantization_config.hpp"
#include "core/checkpoint/tensor_source.hpp"

namespace quench {

struct CheckpointFolder {
  std::filesystem::path path;  // the folder
  // Text of config.json, "" when there is none; without quantization_config where that was used.
  std::string config_json;
  std::shared_ptr<const TensorSource> source;
  std::vector<std::filesystem::path> files;  // that hold the weights, and their index
  // Where the weights are stored as codes, how; `source` then yields what they stand for.
  std::optional<QuantizationConfig> quantization;
};

// Opens a folder: model.safetensors, else model.safetensors.index.json, pytorch_model.bin,
// pytorch_model.bin.index.json, the only *.pth. A path to one such file takes that file, with
// config beside it. Weights that another tool quantized, by config.json's
// quantization_config, are dequantized as they are read. Throws Error: NOT_FOUND with what was
// looked for and what is there, and what the readers throw.
CheckpointFolder open_checkpoint_folder(const std::filesystem::path& path);

// How a folder's weights are stored as codes, from its config alone; nothing for float weights.
// Throws as open_checkpoint_folder does of configs.
std::optional<QuantizationConfig> stored_quantization(const std::filesystem::path& path);

}  // namespace quench
