// Which tokenizer plugin reads a file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/plugin/catalog.hpp"
#include "core/plugin/file_head.hpp"

namespace quench {

// The tokenizer that likes the file best: of its beginning and its name, shipped ones first, others
// asked in a child process each. Throws Error: UNSUPPORTED when none reads it, with what each had
// to say; what File throws.
const PluginDescription& choose_tokenizer_plugin(Catalog& catalog,
                                                 const std::filesystem::path& file);

// Of a file that is not on the disk; `where` stands for it in messages.
const PluginDescription& choose_tokenizer_plugin(Catalog& catalog, const FileHead& head,
                                                 const std::string& where);

// The file among those of a folder (not of folders in it) that by name and beginning is a
// tokenizer's; the best one, of equal ones the first by name. Nothing where there is none.
std::optional<std::filesystem::path> find_tokenizer_file(Catalog& catalog,
                                                         const std::filesystem::path& folder);

}  // namespace quench
