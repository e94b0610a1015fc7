// Programs by their names.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace quench {

// Whether this user may start the file.
bool is_program(const std::filesystem::path& path);

// In the folders of `path`, which colons separate; empty if none has it. Only absolute folders
// count: nothing is started from the working folder.
std::filesystem::path find_program(const std::string& name, std::string_view path);

}  // namespace quench
