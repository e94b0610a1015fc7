// Files of the hub's cache whose names say what they hold.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"

namespace quench {

// The cache names a file by the hash of its content, SHA-256 for large files and git's blob id for
// small ones, and a snapshot links to it; who writes through the link changes the content under its
// name for every reader. Where `path` is, after all links, such a file below the cache root, it is
// read and compared; any other file is none of the hub's and passes. What was found intact is
// remembered by device, inode, size and times, in `environment.memory` for later processes, so
// that a file is read once. Throws Error: DATA_LOSS naming file, repository, both hashes and what
// to do; CANCELLED when `cancel` is set meanwhile. [thread-safe]
void check_blob(const std::filesystem::path& path, const HubEnvironment& environment,
                const std::atomic<bool>* cancel = nullptr);

// All files of a folder, links to files followed, in the order of their names; a file stands for
// itself. Throws like check_blob at the first that is damaged.
void check_blobs(const std::filesystem::path& path, const HubEnvironment& environment,
                 const std::atomic<bool>* cancel = nullptr);

// The same files without what is remembered, and all that is wrong with them.
struct BlobReport {
  size_t checked = 0;  // files whose name is a hash
  std::vector<std::string> faults;
};
BlobReport verify_blobs(const std::filesystem::path& path, const HubEnvironment& environment,
                        const std::atomic<bool>* cancel = nullptr);

}  // namespace quench
