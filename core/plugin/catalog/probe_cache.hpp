// Keeps what probing found between runs: plugins.json in the cache folder.
//
// An entry belongs to a path. It holds while the file's identity (inode, size, times) is that of
// the entry, which costs one stat; when the identity differs but the content's SHA-256 does not,
// the entry is kept. Content alone is no key: what a library's dependencies are depends on where it
// lies, and what they hold on their files. What may pass by itself, such as a want of memory, is
// not kept at all.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/plugin/catalog/description.hpp"

namespace quench {

// A library that a plugin runs on, with what its file was when the plugin was probed; all zero:
// there was none, which is a state, too.
struct WatchedLibrary {
  LinkedLibrary library;
  FileIdentity stamp;
  bool operator==(const WatchedLibrary&) const = default;
};

struct ProbeEntry {
  FileIdentity stamp;
  std::string sha256;
  nlohmann::json code;  // what its items are in content keys (code_identity.hpp)
  // Its items' links: another library in the place of one of them is seen. Of a Python file what
  // else the answer depends on.
  std::vector<WatchedLibrary> links;
  std::filesystem::path interpreter;     // that a Python file was read by; "" of a library
  std::string rejected;                  // why, or ""
  bool timed_out = false;                // so: rejected because it did not answer in time
  std::vector<PluginDescription> items;  // complete
  bool confined = false;                 // probed in the sandbox; without it the answer may differ
};

class ProbeCache {
 public:
  // Reads the file; one that is missing, broken or of another version counts as empty. "": reads
  // and saves nothing.
  explicit ProbeCache(std::filesystem::path folder);

  // The entry of a path as it was probed, even if the file has changed since, or nullptr.
  const ProbeEntry* find(const std::filesystem::path& library) const;
  void store(const std::filesystem::path& library, ProbeEntry entry);
  // The same entry, moved out of the cache, which saves nothing more.
  std::optional<ProbeEntry> take(const std::filesystem::path& library);
  // The libraries with their files as they are now; each file is looked at once.
  std::vector<WatchedLibrary> watch(const std::vector<LinkedLibrary>& libraries);
  // Whether the files of what the entry runs on are what they were.
  bool is_current(const ProbeEntry& entry);
  // Removes the entry of this path.
  void forget(const std::filesystem::path& library);
  // Rewrites the file if something was stored; drops entries of libraries that no longer exist.
  // Logs a cache that cannot be written, which costs the next run its probes.
  void save();

  static std::filesystem::path file_in(const std::filesystem::path& folder);

 private:
  const FileIdentity& look_at(const std::filesystem::path& file);

  std::filesystem::path folder_;
  std::map<std::filesystem::path, ProbeEntry> entries_;
  std::unordered_map<std::string, FileIdentity> seen_;  // by path
  bool changed_ = false;
};

}  // namespace quench
