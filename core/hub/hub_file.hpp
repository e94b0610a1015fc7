// A file of a repository as its hub lists it, and the hash under which the cache keeps it.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/io/file.hpp"

namespace quench {

constexpr uint64_t kMaxHubFile = uint64_t{1} << 50;  // bytes

struct HubFile {
  std::string path;
  uint64_t size = 0;
  // The SHA-256 of a large file (Git LFS), the id that git gives a small one: its name in the
  // cache.
  std::string hash;
  bool is_large() const { return hash.size() == 64; }
};

// Whether it is what names a file in the cache: a SHA-256, or git's id.
bool is_blob_hash(std::string_view text);
// The hash of a content, of the kind that `name` is. Throws like sha256_of.
std::string blob_hash(const std::string& name, std::string_view content);
std::string blob_hash(const std::string& name, const File& file,
                      const std::atomic<bool>* cancel = nullptr);

// What is wrong with a file that a hub, or something that was kept of one, names: its path is not
// plain, its hash is none, or its size is none; "" if it may become names in the cache.
std::string file_fault(const HubFile& file);

// {"path", "bytes", "hash"}
nlohmann::json to_json(const HubFile& file);
// Throws Error(DATA_LOSS) for what file_fault() refuses, nlohmann::json::exception for less.
HubFile hub_file_from(const nlohmann::json& entry);

}  // namespace quench
