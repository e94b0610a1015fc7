// What a process leaves for the next attempt at its run if a plugin ends it:
// died-<job>-<attempt>.txt. A signal handler writes it (core/plugin/calls/at_work.hpp), so it has
// plain lines: the cause, the content keys of the cells at work, "end".
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quench {

struct DeathNote {
  std::filesystem::path path;
  std::string attempt;  // "0001-5eed1234"
  std::string cause;    // one line
  std::vector<std::string> keys;
};

std::filesystem::path death_note_path(const std::filesystem::path& folder, const std::string& job,
                                      const std::string& attempt);

// All notes of a run in the order of their attempts. A torn note counts as far as it is complete; a
// partial key is dropped.
std::vector<DeathNote> read_death_notes(const std::filesystem::path& folder);

// Removes notes once a later attempt has continued from them.
void remove_death_notes(const std::vector<DeathNote>& notes);

}  // namespace quench
