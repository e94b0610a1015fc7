// Chooses the tokenizer plugin that reads a file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/plugin/catalog.hpp"
#include "core/plugin/file_head.hpp"

namespace quench {

// The tokenizer with the best score for the file's beginning and name; asks the shipped ones first,
// then others in a child process each. Throws Error: UNSUPPORTED with each plugin's reason if none
// reads it; what File throws.
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
