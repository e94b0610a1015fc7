// Records that any run of this user may reuse, found by content key.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// One immutable file per key and generation, `records/<2 hex>/<key>.<generation>.json`, with a
// checksum: written under a temporary name, fsynced, published by link (by rename where links do
// not exist), so that two processes may publish one key at the same time. A tombstone
// `<key>.<generation>.forgotten` hides a generation for good; what is published after it is the
// next one. No decision compares clocks. (On a network file system a name may be missing for some
// seconds after another host published it: that is a miss, and costs the time to compute it again.)
class Store {
 public:
  // `home`: QUENCH_HOME; its folders are made when something is first published. Empty: a store
  // that never finds and never keeps anything. `log` hears of what does not verify.
  explicit Store(std::filesystem::path home, std::function<void(const std::string&)> log = {});

  // All records of one evaluation, in the order of `index`; nothing when there is none, when it is
  // hidden, incomplete, or does not verify (which is logged). Throws Error when it cannot be read,
  // or was written by a newer version.
  std::optional<std::vector<Record>> find(const std::string& key) const;
  // `records`: all of one key, none failed. Returns after they are on the disk. A generation that
  // another process published meanwhile is left as it is; one that does not verify is hidden, and
  // the next one published. Throws Error naming the path.
  void publish(const std::vector<Record>& records);
  // Hides the current generation. False when there was none.
  bool forget(const std::string& key, const std::string& reason);

  // Where records lie: home/records.
  std::filesystem::path folder() const { return home_ / "records"; }

 private:
  std::filesystem::path file_of(const std::string& key, uint64_t generation,
                                const char* extension) const;
  // The lowest one that is not hidden.
  uint64_t generation_of(const std::string& key) const;
  std::vector<Record> read(const std::string& key, uint64_t generation) const;
  void hide(const std::string& key, uint64_t generation, const std::string& reason);

  std::filesystem::path home_;
  std::function<void(const std::string&)> log_;
};

// The records of one file of a store. Throws Error: DATA_LOSS when it does not verify or does not
// hold all values of `key`, NOT_FOUND when there is none.
std::vector<Record> read_store_file(const std::filesystem::path& path, const std::string& key);

}  // namespace quench
