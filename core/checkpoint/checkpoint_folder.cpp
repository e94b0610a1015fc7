#include "core/checkpoint/checkpoint_folder.hpp"

#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/sharded_source.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

// The name of the file to open, or "".
std::string safetensors_file(const CheckpointPlace& place) {
  const std::string& named = place.file();
  if (!named.empty()) {
    return named.ends_with(".safetensors") || named.ends_with(".safetensors.index.json") ? named
                                                                                         : "";
  }
  return place.has(kSingle) ? kSingle : place.has(kIndex) ? kIndex : "";
}

}  // namespace

bool has_safetensors(const CheckpointPlace& place) {
  return !safetensors_file(place).empty();
}

std::optional<TensorFiles> open_safetensors(const CheckpointPlace& place) {
  const std::string name = safetensors_file(place);
  if (name.empty()) {
    return std::nullopt;
  }
  TensorFiles out;
  out.files.push_back(place.folder() / name);
  if (!name.ends_with(".index.json")) {
    out.source = std::make_shared<SafetensorsSource>(out.files.front());
    return out;
  }
  auto sharded = std::make_shared<ShardedSource>(out.files.front());
  out.files.insert(out.files.end(), sharded->files().begin(), sharded->files().end());
  out.source = std::move(sharded);
  return out;
}

CheckpointFolder folder_of(const CheckpointPlace& place) {
  CheckpointFolder out;
  out.path = place.folder();
  out.config_json = place.config_json();
  return out;
}

CheckpointFolder open_safetensors_folder(const fs::path& path) {
  const CheckpointPlace place(path);
  std::optional<TensorFiles> tensors = open_safetensors(place);
  if (!tensors) {
    fail(QUENCH_NOT_FOUND, "{}: no weights: looked for {} and {}; the folder has {}",
         place.folder().string(), kSingle, kIndex, place.listing());
  }
  CheckpointFolder out = folder_of(place);
  out.source = std::move(tensors->source);
  out.files = std::move(tensors->files);
  return out;
}

}  // namespace quench
