// Which program a script says that it is for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quench {

// The words behind "#!" of the first line; none where it begins otherwise. Throws like File.
std::vector<std::string> first_line_words(const std::filesystem::path& path);

}  // namespace quench
