// Folders of weights that say what they hold: quench.json beside the weights, sealed, has the key
// of what they were made from, and size and hash of every file. Readers of checkpoints do not look
// at it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
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

enum class Depth {
  kSizes,    // every file is there with its size: nothing but the seal is read
  kContents  // all bytes are what they were
};

// What is wrong with a folder that was sealed: one line with the file's path, what was got and what
// was wanted. "" when it is whole; files that the seal does not know do not count. `whole`: files
// whose contents are read whatever the depth. Throws Error: CANCELLED when `cancel` is set
// meanwhile, FAILED_PRECONDITION where a file that is there cannot be opened, which says nothing of
// what is in it.
std::string fault_of_sealed_folder(const std::filesystem::path& folder, Depth depth,
                                   const std::atomic<bool>* cancel = nullptr,
                                   const std::set<std::string>& whole = {});

// Removes a folder, under another name first, so that no half of it is ever under its own. Nothing
// happens where nothing is, or where it cannot be renamed.
void remove_folder(const std::filesystem::path& folder);

// Removes the folder when `fault` finds one, and returns what it found. A folder that another
// process put there since `fault` began stays.
std::string remove_damaged(const std::filesystem::path& folder,
                           const std::function<std::string()>& fault);

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
