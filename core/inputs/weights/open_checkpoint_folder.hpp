// Opens a checkpoint's files: float safetensors by the host, all others by a format.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/format_handle.hpp"

namespace quench {

// Opens a folder, or a file with config and tokenizer beside it. Takes model.safetensors, else
// model.safetensors.index.json, unless the config says that the weights are quantized; else the
// result of the format with the best score for the place; else the only index of shards that
// formats read. Throws Error: NOT_FOUND listing what was searched and what exists, UNSUPPORTED with
// each format's reason, and what the readers throw.
CheckpointFolder open_checkpoint_folder(Catalog& catalog, const std::filesystem::path& path);

// How a checkpoint's weights are stored as codes, {"format": id, "bits": ...}; null for float
// weights. Opens headers if a format reads it. Throws like open_checkpoint_folder.
nlohmann::json stored_quantization(Catalog& catalog, const std::filesystem::path& path);

// The checkpoints that are files in one folder, by step, as the shipped formats find them: a
// training loop's ckpt_step_100.pth, ckpt_step_200.pth, ... Empty for a folder that is a single
// checkpoint. Throws Error if the folder cannot be examined.
std::vector<PlacedCheckpoint> placed_checkpoints(Catalog& catalog,
                                                 const std::filesystem::path& folder);

// Everything that reading a checkpoint depends on besides its files: "" if the host reads it, else
// a hash of the installed formats. Throws Error if the place cannot be examined.
std::string reading_key(const Catalog& catalog, const std::filesystem::path& path);
// That hash.
std::string formats_key(const Catalog& catalog);

}  // namespace quench
