// What a process that a plugin ended leaves behind for the next attempt at its run:
// died-<job>-<attempt>.txt, which a signal handler writes (core/plugin/at_work.hpp), hence plain
// lines: the cause, the content keys of the cells at work, "end".
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

// All notes of a run, in the order of their attempts. What is torn counts as far as it goes: a key
// that is not whole is left out.
std::vector<DeathNote> read_death_notes(const std::filesystem::path& folder);

// The attempt that they tell of has been gone on from.
void remove_death_notes(const std::vector<DeathNote>& notes);

}  // namespace quench
