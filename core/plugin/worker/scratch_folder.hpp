// Where a worker may write: a folder that goes with the host, also with one that is killed.
#pragma once

#include <filesystem>
#include <optional>

#include "core/base/io/descriptor.hpp"
#include "core/base/io/lease.hpp"

namespace quench {

class ScratchFolder {
 public:
  // Made in TMPDIR, after what hosts that were killed have left there is removed. Throws
  // Error(RESOURCE_EXHAUSTED).
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor folder_;
  std::optional<Beat> beat_;  // touches the folder
};

}  // namespace quench
