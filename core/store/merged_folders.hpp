// The folders of weights of runs that are joined.
#pragma once

#include <filesystem>
#include <map>

namespace quench {

class MergedFolders {
 public:
  // Adds the averages, exports, checkpoints and logs of trainings of `run`. Throws
  // Error(FAILED_PRECONDITION) if `into`, or a run before, has other weights under the same name.
  void add(const std::filesystem::path& run, const std::filesystem::path& into);
  // Copies what is missing; each folder appears completely or not at all. Returns their number.
  uint64_t copy() const;

 private:
  std::map<std::filesystem::path, std::filesystem::path> from_;  // by the place in the joined run
};

}  // namespace quench
