// Folders of weights that say what they hold: quench.json beside the weights, sealed, has the key
// of what they were made from, and size and hash of every file. Readers of checkpoints do not look
// at it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/io/new_folder.hpp"

namespace quench {

inline constexpr const char* kFolderSeal = "quench.json";

enum class FolderState {
  kAbsent,
  kCurrent,  // made from what is wanted, and whole
  kStale,    // written by quench and nobody else, from something else or not whole any more
  kForeign   // holds what quench did not write: it is never touched
};

struct FolderSurvey {
  FolderState state = FolderState::kAbsent;
  std::string reason;  // why kStale or kForeign
  std::optional<FolderIdentity> identity;
};

// What lies at `path`, where a folder made from `made_from` is wanted. Files are compared by size;
// those that were changed after the seal was written, by hash too.
FolderSurvey survey_folder(const std::filesystem::path& path, const nlohmann::json& made_from);

// Why what lies at `path` may not be replaced, or "".
std::string foreign_content(const std::filesystem::path& path);

// What the files of the folder have against its seal, all of them read and hashed; "" when nothing.
// Throws Error as read_sealed_file does.
std::string damage_of(const std::filesystem::path& path);

// A NewFolder that ends with its seal.
class SealedFolder {
 public:
  // `replaces`: a stale folder at `path` makes way. Throws as NewFolder.
  SealedFolder(const std::filesystem::path& path, bool replaces);

  const std::filesystem::path& path() const { return folder_.path(); }
  const std::filesystem::path& temporary() const { return folder_.temporary(); }
  WrittenFiles& files() { return folder_.files(); }

  // Writes the seal and gives the folder its name. Where another process has published a folder
  // made from the same meanwhile, that one stays. Throws Error: FAILED_PRECONDITION where something
  // else is there that does not make way, and as NewFolder::commit.
  void publish(const nlohmann::json& made_from);

 private:
  NewFolder folder_;
  bool replaces_;
};

}  // namespace quench
