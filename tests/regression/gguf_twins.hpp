// One model as a GGUF file and as a safetensors folder, with the same numbers in both.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/checkpoint/tensor_source.hpp"

namespace quench::test {

// The bytes of a GGUF file such as llama.cpp's converter makes of a model of the families llama,
// olmo, olmo2, smollm3 and apertus (without scaled positions): matrices in float16, rows in
// float32, queries and keys permuted where it permutes them.
std::string gguf_of(const TensorSource& weights, const nlohmann::json& config);

// Writes config.json and model.safetensors into `folder`, with the elements that gguf_of keeps.
void write_float16_folder(const TensorSource& weights, const nlohmann::json& config,
                          const std::filesystem::path& folder);

}  // namespace quench::test
