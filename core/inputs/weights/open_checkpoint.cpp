#include "core/inputs/weights/open_checkpoint.hpp"

#include <atomic>
#include <map>
#include <optional>
#include <system_error>

#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/checkpoint/abi_source.hpp"
#include "core/error.hpp"
#include "core/hub/blob.hpp"
#include "core/hub/resolve.hpp"
#include "core/hub/snapshot.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;

// Config, tokenizer and whatever else may be read or copied beside the weights of `path`, a folder
// or a file.
void check_small_files(const fs::path& path, const HubEnvironment& hub) {
  constexpr uint64_t kSmall = uint64_t{64} << 20;  // the largest tokenizers have 34 MB
  const fs::path folder = folder_holding(path);
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (!holds_weights(entry.path()) && entry.is_regular_file(error) &&
        entry.file_size(error) <= kSmall && !error) {
      check_blob(entry.path(), hub);
    }
  }
}

}  // namespace

LocatedCheckpoint locate_checkpoint(const CheckpointCell& cell, const HubEnvironment& hub) {
  if (!is_hub_spec(cell.location)) {
    return {cell.location, ""};
  }
  if (cell.located) {
    return *cell.located;
  }
  const ResolvedModel resolved = resolve(cell.location, hub);
  return {resolved.folder, resolved.commit};
}

void locate_checkpoints(std::vector<Experiment>& experiments, const HubEnvironment& hub) {
  std::map<std::string, std::optional<LocatedCheckpoint>> known;  // by location
  for (Experiment& experiment : experiments) {
    for (CheckpointCell& cell : experiment.checkpoints) {
      const auto [found, added] = known.try_emplace(cell.location);
      if (added && is_hub_spec(cell.location)) {
        try {
          found->second = locate_checkpoint(cell, hub);
        } catch (const Error&) {
          // it may be fetched yet; the error is reported when it is opened
        }
      }
      cell.located = found->second;
    }
  }
}

std::string weights_absence(const CheckpointCell& cell, const HubEnvironment& hub) {
  try {
    const fs::path path = locate_checkpoint(cell, hub).path;
    if (!is_hub_spec(cell.location)) {
      return !exists_at(path)     ? path.string() + " does not exist"
             : is_folder_at(path) ? missing_weights(path)
                                  : "";
    }
    return has_weights(path)
               ? ""
               : fmt::format(
                     "{}: its weights are not in the cache {}; get them "
                     "with: quench fetch {}",
                     printable(cell.location), path.string(), printable(cell.location));
  } catch (const Error& error) {
    if (error.code() == QUENCH_UNAVAILABLE) {
      throw;
    }
    return error.what();
  }
}

namespace {

CheckpointFolder open_place(Catalog& catalog, const CheckpointCell& cell, const fs::path& path,
                            const HubEnvironment& hub) {
  try {
    return open_checkpoint_folder(catalog, path);
  } catch (const Error&) {
    // A format may know other endings; where nothing reads the folder, this is why.
    if (const std::string absence = weights_absence(cell, hub); !absence.empty()) {
      fail(QUENCH_NOT_FOUND, "{}", absence);
    }
    throw;
  }
}

}  // namespace

CheckpointFolder open_headers(Catalog& catalog, const CheckpointCell& cell,
                              const HubEnvironment& hub) {
  const fs::path path = locate_checkpoint(cell, hub).path;
  check_small_files(path, hub);
  CheckpointFolder folder = open_place(catalog, cell, path, hub);
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
