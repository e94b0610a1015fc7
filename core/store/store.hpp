// Records that any run of this user may reuse, found by content key.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// One immutable, checksummed file per key and generation, `records/<2
// hex>/<key>.<generation>.json`. It is written under a temporary name, fsynced and published by
// link (by rename if links do not exist), so two processes may publish one key at the same time. A
// tombstone `<key>.<generation>.forgotten` hides a generation for good; the next one published gets
// the next number. No decision compares clocks. (On a network file system, a name that another host
// published may be missing for some seconds: that is a miss and costs one computation.)
class Store {
 public:
  // `home`: QUENCH_HOME; its folders are created at the first publication. Empty: a store that
  // never finds and never keeps anything. `log` receives reports of what does not verify.
  explicit Store(std::filesystem::path home, std::function<void(const std::string&)> log = {});

  // All records of one evaluation, ordered by `index`; nothing if there are none, or if they are
  // hidden, incomplete or do not verify (which is logged). Throws Error if they cannot be read or a
  // newer version wrote them.
  std::optional<std::vector<Record>> find(const std::string& key) const;
  // `records`: all of one key, none failed. Returns once they are on disk. Keeps a generation that
  // another process published meanwhile; hides one that does not verify and publishes the next.
  // Throws Error naming the path.
  void publish(const std::vector<Record>& records);
  // Hides the current generation. Returns false if there was none.
  bool forget(const std::string& key, const std::string& reason);

  // The folder of the records: home/records.
  std::filesystem::path folder() const { return home_ / "records"; }

 private:
  std::filesystem::path file_of(const std::string& key, uint64_t generation,
                                const char* extension) const;
  // The lowest generation that is not hidden.
  uint64_t generation_of(const std::string& key) const;
  std::vector<Record> read(const std::string& key, uint64_t generation) const;
  void hide(const std::string& key, uint64_t generation, const std::string& reason);

  std::filesystem::path home_;
  std::function<void(const std::string&)> log_;
};

// Reads the records of one file of a store. Throws Error: DATA_LOSS if it does not verify or lacks
// a value of `key`, NOT_FOUND if it does not exist.
std::vector<Record> read_store_file(const std::filesystem::path& path, const std::string& key);

}  // namespace quench
