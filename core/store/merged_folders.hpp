// The folders of weights of runs that are joined.
#pragma once

#include <filesystem>
#include <map>

namespace quench {

// Throws Error(FAILED_PRECONDITION) if there is anything but files and folders at or below `path`:
// to copy a link would bring along what it points to.
void require_plain(const std::filesystem::path& path);

class MergedFolders {
 public:
  // Adds the averages, exports, checkpoints and logs of trainings of `run`. Throws
  // Error(FAILED_PRECONDITION) if `into`, or a run before, has other weights under the same name;
  // like require_plain for folders of weights.
  void add(const std::filesystem::path& run, const std::filesystem::path& into);
  // Copies what is missing; each folder appears completely or not at all. Returns their number.
  uint64_t copy() const;

 private:
  std::map<std::filesystem::path, std::filesystem::path> from_;  // by the place in the joined run
};

}  // namespace quench
