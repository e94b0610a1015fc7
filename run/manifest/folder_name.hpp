// Turns the names of weights and methods into names of folders.
#pragma once

#include <filesystem>
#include <string>

namespace quench {

// Different names give different folders, whatever characters they have. Keeps letters, digits and
// `-._=,@`; writes a space as '+', every other byte and a leading dot as %XX, and "" as "%". Cuts
// what exceeds 200 bytes and appends '~' and the hash. "lawa window=5 at decay/step1200" gives
// "lawa+window=5+at+decay%2Fstep1200".
std::string folder_name(const std::string& name);

// Where in `folder` a point of a sweep writes, under a name that no other is ever turned into. The
// first point has no folder of its own.
std::filesystem::path folder_of_job(const std::filesystem::path& folder, size_t job);

}  // namespace quench
