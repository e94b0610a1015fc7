// A checkpoint's files, read by the host where they are float safetensors, else by a format.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/plugin/catalog.hpp"
#include "core/plugin/format_handle.hpp"

namespace quench {

// Opens a folder, or a file with config and tokenizer beside it: model.safetensors, else
// model.safetensors.index.json, where the config does not say that the weights are quantized; else
// what the format that is surest of the place makes of it; else the only index of shards that
// formats read. Throws Error: NOT_FOUND with what was looked for and what is there, UNSUPPORTED
// with what each format said, and what the readers throw.
CheckpointFolder open_checkpoint_folder(Catalog& catalog, const std::filesystem::path& path);

// How a checkpoint's weights are stored as codes, {"format": id, "bits": ...}; null for float
// weights. Opens headers where a format reads it. Throws as open_checkpoint_folder.
nlohmann::json stored_quantization(Catalog& catalog, const std::filesystem::path& path);

// The checkpoints that lie as files in a folder, by step, as the formats that come with the program
// find them: a training loop's ckpt_step_100.pth, ckpt_step_200.pth, ... None for a folder that is
// one checkpoint. Throws Error where the folder cannot be looked at.
std::vector<PlacedCheckpoint> placed_checkpoints(Catalog& catalog,
                                                 const std::filesystem::path& folder);

// All that reading a checkpoint depends on beside its files: "" where the host reads it, else a
// hash of the formats there are. Throws Error where the place cannot be looked at.
std::string reading_key(const Catalog& catalog, const std::filesystem::path& path);

}  // namespace quench
