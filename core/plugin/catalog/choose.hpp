// Which plugin takes a config.json, a place or a tokenizer's file. Asks those that came with the
// program first, and others only where none of them takes it, so that a library that merely is on
// the search path takes nothing away from a plugin that took it before; a tokenizer takes a file
// only by its name, too (QUENCH_TOKENIZER_BY_NAME), and else the largest score wins. Each is asked
// where it runs: what a plugin in a process of its own does there harms no other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/io/file.hpp"
#include "core/checkpoint/checkpoint_place.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "quench/abi/kind/tokenizer.h"

namespace quench {

struct FileHead {
  std::string name;   // without its folder
  std::string bytes;  // the first bytes, at most kBytes
  uint64_t size = 0;  // of the whole file

  static constexpr uint64_t kBytes = 4096;

  // Throws what File throws.
  static FileHead read(const std::filesystem::path& path) {
    const File file(path);
    std::string bytes(kBytes, '\0');
    bytes.resize(file.read_present(0, bytes.data(), bytes.size()));
    return {path.filename().string(), std::move(bytes), file.size()};
  }
  // The head of a file that is in memory.
  static FileHead of(const std::string& name, std::string_view content) {
    return {name, std::string(content.substr(0, kBytes)), content.size()};
  }
  // Valid as long as this object.
  quench_file_head view() const {
    return {sizeof(quench_file_head), name.c_str(), bytes.data(), bytes.size(), size};
  }
};

// Throws Error(NOT_FOUND) with a remedy if there is no config; `where` is its path.
void require_config(std::string_view config_json, const std::string& where);

// The family with the best score for this config.json. A user who wants another names it. Throws
// Error(UNSUPPORTED) if none fits; its message begins with `where` (the config's path) and has the
// config's model_type, the nearest family and each family's reason.
const PluginDescription& choose_family(Catalog& catalog, std::string_view config_json,
                                       const std::string& where);

struct FormatChoice {
  const PluginDescription* format = nullptr;  // nullptr: no format reads it
  std::string said;  // "; gptq: bits = 5, ...": formats that know the place but cannot read it
};

// The format with the best score for this place.
FormatChoice choose_format(Catalog& catalog, const CheckpointPlace& place);

// The tokenizer that the user named for this path (Catalog::tokenizers), else the one with the best
// score for the file's beginning and name. Throws Error: UNSUPPORTED with each plugin's reason if
// none reads it; what File throws.
const PluginDescription& choose_tokenizer_plugin(Catalog& catalog,
                                                 const std::filesystem::path& file);

// For a file that is not on disk; messages show `where` instead.
const PluginDescription& choose_tokenizer_plugin(Catalog& catalog, const FileHead& head,
                                                 const std::string& where);

// The tokenizer file in a folder (not in its subfolders), judged by name and beginning: the one
// with the best score, on a tie the first by name. Nothing if there is none.
std::optional<std::filesystem::path> find_tokenizer_file(Catalog& catalog,
                                                         const std::filesystem::path& folder);

}  // namespace quench
