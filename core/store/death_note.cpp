#include "core/store/death_note.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <system_error>

#include "core/base/io/file.hpp"
#include "core/error.hpp"
#include "core/store/attempt_name.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kLongestLine = 8000;
constexpr size_t kKeyDigits = 64;
constexpr size_t kMostKeys = 100000;
constexpr size_t kLargestNote = size_t{8} << 20;  // kMostKeys with their ends

bool is_key(const std::string& line) {
  return line.size() == kKeyDigits &&
         line.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Nothing for what cannot be read, is no file, or is larger than any note.
std::optional<std::string> note_text(const fs::path& path) {
  try {
    return read_file(path, kLargestNote);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

fs::path death_note_path(const fs::path& folder, const std::string& job,
                         const std::string& attempt) {
  return folder / fmt::format("died-{}-{}.txt", job, attempt);
}

std::vector<DeathNote> read_death_notes(const fs::path& folder) {
  std::vector<DeathNote> notes;
  for (const AttemptName& name : find_attempts(folder, "died", ".txt")) {
    DeathNote note{name.path, name.id, "", {}};
    std::istringstream in(note_text(name.path).value_or(""));
    std::string line;
    if (!std::getline(in, line)) {
      continue;
    }
    note.cause = printable(line, kLongestLine);
    while (note.keys.size() < kMostKeys && std::getline(in, line)) {
      if (is_key(line)) {
        note.keys.push_back(line);
      }
    }
    notes.push_back(std::move(note));
  }
  return notes;
}

void remove_death_notes(const std::vector<DeathNote>& notes) {
  for (const DeathNote& note : notes) {
    std::error_code left;
    fs::remove(note.path, left);
  }
}

}  // namespace quench
