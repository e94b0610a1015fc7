// Records that any run of this user may reuse, found by content key.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// One immutable file per key and generation, `records/<2 hex>/<key>.<generation>.json`, with a
// checksum: written under a temporary name, fsynced, published by link (by rename where links do
// not exist), so that two processes may publish one key at the same time. A tombstone hides a
// generation for good; what is published after it is the next one. No decision compares clocks.
class Store {
 public:
  // `home`: QUENCH_HOME; its folders are made when something is first published. Empty: a store
  // that never finds and never keeps anything.
  explicit Store(std::filesystem::path home);

  // All records of one evaluation, in the order of `index`; nothing when there is none, when it is
  // hidden, incomplete, or does not verify (which is logged).
  std::optional<std::vector<Record>> find(const std::string& key) const;
  // `records`: all of one key, none failed. Returns after they are on the disk. A generation that
  // another process published meanwhile is left as it is. Throws Error naming the path.
  void publish(const std::vector<Record>& records);
  // Hides the current generation. False when there was none.
  bool forget(const std::string& key, const std::string& reason);

 private:
  std::filesystem::path home_;
};

}  // namespace quench
