#include "core/inputs/weights/open_checkpoint_folder.hpp"

#include <algorithm>
#include <functional>

#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/sharded_source.hpp"
#include "core/checkpoint/stored_dtype.hpp"
#include "core/error.hpp"
#include "core/hub/snapshot.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/handles/format_handle.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr const char* kQuantization = "quantization_config";

std::string ids_of_formats(const Catalog& catalog) {
  std::string out;
  for (const PluginDescription* format : catalog.of_kind(QUENCH_KIND_FORMAT)) {
    out += (out.empty() ? "" : ", ") + format->id;
  }
  return out.empty() ? "none" : out;
}

// "; it holds checkpoints (step1, step2): ..." where the folder's folders have weights; that it is
// an adapter; else "".
std::string hint_of_folder(const fs::path& folder) {
  constexpr size_t kShown = 4;
  if (is_file_at(folder / "adapter_config.json")) {
    return "; it is an adapter (LoRA): merge it into its model first";
  }
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code unreadable;
    for (const char* file : {"model.safetensors", "model.safetensors.index.json"}) {
      if (fs::exists(at->path() / file, unreadable)) {
        names.push_back(at->path().filename().string());
        break;
      }
    }
  }
  if (names.empty()) {
    return "";
  }
  std::sort(names.begin(), names.end());
  std::string shown;
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i) {
    shown += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  return fmt::format(
      "; but {} of its folders are checkpoints ({}{}): name one of them, or write a manifest for "
      "all with: quench init {}",
      names.size(), shown, names.size() > kShown ? ", ..." : "", folder.string());
}

[[noreturn]] void refuse(const Catalog& catalog, const CheckpointPlace& place, bool quantized,
                         const std::string& said) {
  const fs::path path = place.file().empty() ? place.folder() : place.folder() / place.file();
  if (quantized) {
    fail(QUENCH_UNSUPPORTED,
         "{}: its config says that the weights are quantized, in a way that no format reads; there "
         "are {}{}",
         path.string(), ids_of_formats(catalog), said);
  }
  if (!place.file().empty()) {
    fail(QUENCH_UNSUPPORTED, "{}: no safetensors file, and no format reads it; there are {}{}{}",
         path.string(), ids_of_formats(catalog), said,
         place.file() == "config.json" ? "; wanted its folder" : "");
  }
  fail(QUENCH_NOT_FOUND,
       "{}: no weights: looked for model.safetensors, model.safetensors.index.json and what "
       "formats read ({}); the folder has {}{}{}",
       path.string(), ids_of_formats(catalog), place.listing(), hint_of_folder(path), said);
}

// The index that was named, or the folder's only one; "" if there is none.
std::string index_of_shards(const CheckpointPlace& place) {
  constexpr std::string_view kEnding = ".index.json";
  if (!place.file().empty()) {
    return place.file().ends_with(kEnding) ? place.file() : "";
  }
  std::string found;
  for (const std::string& name : place.names()) {
    if (name.ends_with(kEnding)) {
      if (!found.empty()) {
        return "";
      }
      found = name;
    }
  }
  return found;
}

// Throws where a file of weights is a pointer of Git LFS.
void refuse_lfs_pointers(const fs::path& path) {
  if (!is_folder_at(path)) {
    if (is_file_at(path)) {
      refuse_lfs_pointer(File(path));
    }
    return;
  }
  const CheckpointPlace place(path);
  for (const std::string& name : place.names()) {
    if (holds_weights(name) && is_file_at(path / name)) {
      refuse_lfs_pointer(File(path / name));
    }
  }
}

class Opening {
 public:
  explicit Opening(Catalog& catalog) : catalog_(catalog) {}

  CheckpointFolder open(const fs::path& path) {
    const auto place = std::make_shared<CheckpointPlace>(path);
    CheckpointFolder out = folder_of(*place);
    const bool quantized = place->is_quantized();
    if (!quantized) {
      if (std::optional<TensorFiles> tensors = open_safetensors(*place)) {
        return with_tensors(std::move(out), std::move(*tensors));
      }
    }
    const FormatChoice choice = choose_format(catalog_, *place);
    if (choice.format != nullptr) {
      return by_format(std::move(out), *choice.format, place);
    }
    if (const std::string index = index_of_shards(*place); !quantized && !index.empty()) {
      return with_tensors(std::move(out), shards(place->folder() / index));
    }
    refuse(catalog_, *place, quantized, choice.said);
  }

 private:
  static CheckpointFolder with_tensors(CheckpointFolder out, TensorFiles tensors) {
    require_floats(*tensors.source);
    out.source = std::move(tensors.source);
    out.files = std::move(tensors.files);
    return out;
  }

  // Without a config that tells the scales, a code of 8 bits has no value.
  static void require_floats(const TensorSource& tensors) {
    for (uint64_t i = 0; i < tensors.count(); ++i) {
      if (same_dtype(tensors.info(i).dtype, kFloat8E4M3)) {
        fail(QUENCH_UNSUPPORTED,
             "{}: tensor '{}' is {}, and no quantization_config says its scale; if it has none, "
             "cast it in Python, value.to(torch.bfloat16), and save again",
             tensors.description(), printable(tensors.info(i).name),
             dtype_name(tensors.info(i).dtype));
      }
    }
  }

  CheckpointFolder by_format(CheckpointFolder out, const PluginDescription& format,
                             const std::shared_ptr<CheckpointPlace>& place) {
    std::vector<fs::path> inside;  // files of the container
    place->set_tensors([&] {
      TensorFiles tensors = container(*place);
      inside = std::move(tensors.files);
      return tensors.source;
    });
    place->note_files();
    FormatContents contents = FormatHandle(catalog_, format).open(place);
    place->set_tensors({});
    out.source = std::move(contents.source);
    out.files = place->noted_files();
    for (const fs::path& file : inside) {
      if (std::find(out.files.begin(), out.files.end(), file) == out.files.end()) {
        out.files.push_back(file);
      }
    }
    out.carried_tokenizer = std::move(contents.tokenizer);
    out.config_json = contents.config_json ? std::move(*contents.config_json)
                                           : without_quantization(out.config_json);
    if (!contents.quantization.is_null()) {
      out.quantization = std::move(contents.quantization);
      out.quantization["format"] = format.id;
    }
    return out;
  }

  // The tensors in the files of the place, as stored.
  TensorFiles container(const CheckpointPlace& of) {
    if (std::optional<TensorFiles> tensors = open_safetensors(of)) {
      return std::move(*tensors);
    }
    const fs::path path = of.file().empty() ? of.folder() : of.folder() / of.file();
    const auto place = std::make_shared<CheckpointPlace>(path);
    place->hide_config();
    const FormatChoice choice = choose_format(catalog_, *place);
    if (choice.format != nullptr) {
      place->note_files();
      FormatContents contents = FormatHandle(catalog_, *choice.format).open(place);
      return {std::move(contents.source), place->noted_files()};
    }
    if (const std::string index = index_of_shards(*place); !index.empty()) {
      return shards(place->folder() / index);
    }
    refuse(catalog_, *place, false, choice.said);
  }

  TensorFiles shards(const fs::path& index) {
    auto source = std::make_shared<ShardedSource>(index, [&](const fs::path& shard) {
      const CheckpointPlace place(shard);
      return container(place).source;
    });
    TensorFiles out{source, {index}};
    out.files.insert(out.files.end(), source->files().begin(), source->files().end());
    return out;
  }

  // Families refuse what they do not understand, but the source yields a float checkpoint.
  static std::string without_quantization(const std::string& config_json) {
    if (config_json.empty()) {
      return config_json;
    }
    nlohmann::json config = parse_json(config_json, "config.json");
    return config.is_object() && config.erase(kQuantization) > 0 ? config.dump(2) : config_json;
  }

  Catalog& catalog_;
};

}  // namespace

CheckpointFolder open_checkpoint_folder(Catalog& catalog, const fs::path& path) {
  try {
    return Opening(catalog).open(path);
  } catch (const Error&) {
    refuse_lfs_pointers(path);  // formats only know that such a file is not theirs
    throw;
  }
}

nlohmann::json stored_quantization(Catalog& catalog, const fs::path& path) {
  const CheckpointPlace place(path);
  return has_safetensors(place) && !place.is_quantized()
             ? nlohmann::json()
             : open_checkpoint_folder(catalog, path).quantization;
}

std::vector<PlacedCheckpoint> placed_checkpoints(Catalog& catalog, const fs::path& folder) {
  const CheckpointPlace place(folder);
  if (place.names().empty() || has_safetensors(place)) {
    return {};
  }
  for (const PluginDescription* format : catalog.of_kind(QUENCH_KIND_FORMAT)) {
    const bool lists = format->instance && (format->instance->needs & QUENCH_FORMAT_LISTS) != 0;
    if (!lists || !catalog.is_shipped(*format)) {
      continue;
    }
    std::vector<PlacedCheckpoint> found = FormatHandle(catalog, *format).list(place);
    if (!found.empty()) {
      return found;
    }
  }
  return {};
}

std::string reading_key(const Catalog& catalog, const fs::path& path) {
  const CheckpointPlace place(path);
  return has_safetensors(place) && !place.is_quantized() ? "" : formats_key(catalog);
}

std::string formats_key(const Catalog& catalog) {
  std::string formats;
  for (const PluginDescription* format : catalog.of_kind(QUENCH_KIND_FORMAT)) {
    formats += format->id + "=" + format->code.dump() + "\n";
  }
  return sha256_hex(formats);
}

}  // namespace quench
