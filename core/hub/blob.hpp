// Checks files of the hub's cache against the hashes that are their names.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"

namespace quench {

// The cache names a file by the hash of its content (SHA-256 for large files, git's blob id for
// small ones), and a snapshot links to it. A program that writes through the link changes the
// content for every reader, under the old name. If `path`, with all links resolved, is such a file
// below the cache root, this function reads it and compares the hash; it accepts every other file.
// It remembers intact files by device, inode, size and times, in `environment.memory` for later
// processes too, so each file is read once. Throws Error: DATA_LOSS naming file, repository, both
// hashes and the remedy; CANCELLED if `cancel` is set meanwhile. [thread-safe]
void check_blob(const std::filesystem::path& path, const HubEnvironment& environment,
                const std::atomic<bool>* cancel = nullptr);

// Whether `path`, with all links resolved, is a file of the cache whose name is its hash: what such
// a file holds, its repository and commit say.
bool is_blob(const std::filesystem::path& path, const HubEnvironment& environment);

// Checks all files of a folder in the order of their names and follows links to files; a path to a
// file checks that file. Throws like check_blob at the first damaged file.
void check_blobs(const std::filesystem::path& path, const HubEnvironment& environment,
                 const std::atomic<bool>* cancel = nullptr);

// Checks the same files without using what is remembered, and reports all faults.
struct BlobReport {
  size_t checked = 0;  // files whose name is a hash
  std::vector<std::string> faults;
};
BlobReport verify_blobs(const std::filesystem::path& path, const HubEnvironment& environment,
                        const std::atomic<bool>* cancel = nullptr);

}  // namespace quench
