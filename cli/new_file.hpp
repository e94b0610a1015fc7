// Files that a command writes once and never replaces, because they may have been edited by hand.
#pragma once

#include <filesystem>
#include <string>

namespace quench {

// Throws Error: INVALID_ARGUMENT if something is there, FAILED_PRECONDITION if it cannot be
// written; then nothing is there.
void write_new_file(const std::filesystem::path& path, const std::string& text);

}  // namespace quench
