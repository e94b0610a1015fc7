// Which plugin takes a config.json, a place or a tokenizer's file. Asks those that came with the
// program first, and others only where none of them takes it, so that a library that merely is on
// the search path takes nothing away from a plugin that took it before. Each is asked where it
// runs: what a plugin in a process of its own does there harms no other.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/file_head.hpp"

namespace quench {

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

// The tokenizer with the best score for the file's beginning and name. Throws Error: UNSUPPORTED
// with each plugin's reason if none reads it; what File throws.
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
