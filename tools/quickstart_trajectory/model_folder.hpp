// A model as a Hugging Face folder: config.json, model.safetensors, tokenizer.json.
#pragma once

#include <filesystem>

#include "tools/quickstart_trajectory/transformer.hpp"

namespace quickstart {

// Writes the three files into `folder`, which is made. Throws std::runtime_error when it cannot.
void write_model(const std::filesystem::path& folder, const Transformer& model);

}  // namespace quickstart
