// Which files of runs that are joined are copied into the joined run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace quench {

// Throws Error(FAILED_PRECONDITION) if there is anything but files and folders at or below `path`:
// to copy a link would bring along what it points to.
void require_plain(const std::filesystem::path& path);

class MergedFiles {
 public:
  // Adds the records, logs and tombstones of `run` and its averages, exports, checkpoints and logs
  // of trainings, unless what is in `into`, or comes from a run before, is as good. Throws
  // Error(FAILED_PRECONDITION) if that has the same name and other contents; like require_plain.
  void add(const std::filesystem::path& run, const std::filesystem::path& into);
  // Copies the folders of weights and the files in them that are missing; each appears completely
  // or not at all. Returns their number.
  uint64_t copy_folders() const;
  // Writes records, logs and tombstones, each file at once, those of records last. Returns their
  // number.
  uint64_t write_texts() const;

 private:
  using Texts = std::map<std::filesystem::path, std::string>;

  void add_text(const std::filesystem::path& file, const std::filesystem::path& into);

  std::map<std::filesystem::path, std::filesystem::path>
      folders_;    // by the place in the joined run
  Texts records_;  // likewise
  Texts others_;
};

}  // namespace quench
