#include "core/weights/open_checkpoint.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>
#include <system_error>

#include "core/checkpoint/abi_source.hpp"
#include "core/error.hpp"
#include "core/hub/blob.hpp"
#include "core/hub/resolve.hpp"
#include "core/io/file.hpp"
#include "core/plugin/host_services.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;

bool is_hub(const std::string& model) {
  return model.rfind("hf://", 0) == 0;
}

bool holds_weights(const fs::path& file) {
  constexpr const char* kEndings[] = {".safetensors", ".bin", ".pth", ".pt", ".gguf"};
  return std::find(std::begin(kEndings), std::end(kEndings), file.extension()) !=
         std::end(kEndings);
}

// Config, tokenizer and whatever else may be read or copied beside the weights of `path`, a folder
// or a file.
void check_small_files(const fs::path& path, const HubEnvironment& hub) {
  constexpr uint64_t kSmall = uint64_t{64} << 20;  // the largest tokenizers have 34 MB
  std::error_code error;
  const fs::path folder = fs::is_directory(path, error) ? path : path.parent_path();
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!holds_weights(entry.path()) && entry.is_regular_file(error) &&
        entry.file_size(error) <= kSmall && !error) {
      check_blob(entry.path(), hub);
    }
  }
}

}  // namespace

LocatedCheckpoint locate_checkpoint(const CheckpointCell& cell, const HubEnvironment& hub) {
  if (!is_hub(cell.location)) {
    return {cell.location, ""};
  }
  const ResolvedModel resolved = resolve(cell.location, hub);
  return {resolved.folder, resolved.commit};
}

CheckpointFolder open_headers(Catalog& catalog, const CheckpointCell& cell,
                              const HubEnvironment& hub) {
  const fs::path path = locate_checkpoint(cell, hub).path;
  check_small_files(path, hub);
  CheckpointFolder folder = open_checkpoint_folder(catalog, path);
  if (!cell.config.empty()) {
    folder.config_json =
        cell.config.front() == '{' ? cell.config : read_file(cell.config, kMaxConfigBytes);
  }
  return folder;
}

CheckpointFolder open_files(Catalog& catalog, const CheckpointCell& cell,
                            const HubEnvironment& hub) {
  const std::atomic<bool>* cancel = &HostServices::instance().cancel_flag();
  std::optional<CheckpointFolder> folder;
  try {
    folder = open_headers(catalog, cell, hub);
  } catch (const Error&) {
    // Where a file is damaged, that is why it cannot be opened.
    check_blobs(locate_checkpoint(cell, hub).path, hub, cancel);
    throw;
  }
  for (const fs::path& file : folder->files) {
    check_blob(file, hub, cancel);
  }
  return std::move(*folder);
}

ModelHandle open_model(Catalog& catalog, const std::shared_ptr<const TensorSource>& source,
                       const std::string& config_json, const std::string& where,
                       const std::string& family, quench_dtype dtype, quench_device device) {
  require_config(config_json, where);
  const AbiSource view(source);
  const PluginDescription& plugin = family.empty() ? choose_family(catalog, config_json, where)
                                                   : catalog.require("model", family);
  return ModelHandle::open(catalog, plugin,
                           {sizeof(quench_model_open_args), 0, view.get(), config_json.data(),
                            config_json.size(), device, dtype});
}

OpenCheckpoint open_checkpoint(Catalog& catalog, const CheckpointCell& cell,
                               const HubEnvironment& hub, quench_dtype dtype,
                               quench_device device) {
  CheckpointFolder folder = open_files(catalog, cell, hub);
  ModelHandle model =
      open_model(catalog, folder.source, folder.config_json, (folder.path / "config.json").string(),
                 cell.family, dtype, device);
  return {std::move(folder), locate_checkpoint(cell, hub).commit, std::move(model)};
}

}  // namespace quench
