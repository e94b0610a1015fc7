// Folders of weights that state what they hold. Their sealed quench.json, beside the weights, holds
// the key of what they were made from, and size and hash of every file. Readers of checkpoints
// ignore it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/io/new_folder.hpp"

namespace quench {

inline constexpr const char* kFolderSeal = "quench.json";

enum class FolderState {
  kAbsent,
  kCurrent,  // made from what is wanted, and complete
  kStale,    // only quench wrote it, but from something else, or it is no longer complete
  kDamaged,  // its seal does not verify, so its content is unknown: put aside, not removed
  kForeign   // holds what quench did not write: never touched
};

struct FolderSurvey {
  FolderState state = FolderState::kAbsent;
  std::string reason;  // why kStale, kDamaged or kForeign
  std::optional<FolderIdentity> identity;
};

// Examines `path`, where the caller wants a folder made from `made_from`. Compares files by size,
// and by hash too if they changed after the seal was written.
FolderSurvey survey_folder(const std::filesystem::path& path, const nlohmann::json& made_from);

// Gives the folder another name beside it, NAME~damaged, and returns that. Returns "" and keeps the
// folder at `path` if it is not `seen` any more. Throws Error(FAILED_PRECONDITION).
std::filesystem::path put_aside(const std::filesystem::path& path, const FolderIdentity& seen);

// Why the content of `path` may not be replaced or put aside, or "".
std::string foreign_content(const std::filesystem::path& path);

// How the folder's files differ from its seal, or "". Reads and hashes all files. Throws Error like
// read_sealed_file.
std::string damage_of(const std::filesystem::path& path);

enum class Depth {
  kSizes,    // every file exists with its size: reads only the seal
  kContents  // all bytes are unchanged
};

// What is wrong with a folder that was sealed: one line with the file's path, the value found and
// the value wanted; "" if it is complete. Ignores files that the seal does not list. `whole`:
// files to read completely at any depth. Throws Error: CANCELLED if `cancel` is set meanwhile,
// FAILED_PRECONDITION if an existing file cannot be opened, which proves nothing about its
// content.
std::string fault_of_sealed_folder(const std::filesystem::path& folder, Depth depth,
                                   const std::atomic<bool>* cancel = nullptr,
                                   const std::set<std::string>& whole = {});

// The same of some files of a folder, by their bytes: of those that its seal lists. "" where it has
// no seal, or one that does not verify. Throws likewise.
std::string fault_of_sealed_files(const std::filesystem::path& folder,
                                  const std::vector<std::filesystem::path>& files,
                                  const std::atomic<bool>* cancel = nullptr);

// Removes a folder; renames it first, so that its name never refers to half of it. Does nothing if
// it does not exist or cannot be renamed.
void remove_folder(const std::filesystem::path& folder);

// Removes the folder if `fault` finds a fault, and returns the fault. Keeps a folder that another
// process put there after `fault` began.
std::string remove_damaged(const std::filesystem::path& folder,
                           const std::function<std::string()>& fault);

// A NewFolder that commit finishes with a seal.
class SealedFolder {
 public:
  // `replaces`: a stale folder at `path` may be replaced. Throws like NewFolder.
  SealedFolder(const std::filesystem::path& path, bool replaces);

  const std::filesystem::path& path() const { return folder_.path(); }
  const std::filesystem::path& temporary() const { return folder_.temporary(); }
  WrittenFiles& files() { return folder_.files(); }

  // Writes the seal and gives the folder its name. If another process has published a folder made
  // from the same meanwhile, keeps that one. Throws Error: FAILED_PRECONDITION if something else
  // exists there that may not be replaced; otherwise like NewFolder::commit.
  void publish(const nlohmann::json& made_from);

 private:
  NewFolder folder_;
  bool replaces_;
};

}  // namespace quench
