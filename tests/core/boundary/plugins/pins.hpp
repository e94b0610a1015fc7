// What a family pins of memory that processes share, and whether its copies keep the rules. Who
// breaks one ends the process, with a line that says which.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "quench/abi/extension/device_memory.h"

namespace quench::test {

class Pins {
 public:
  // Of one that refuses nothing is ever pinned.
  explicit Pins(bool refuses) : refuses_(refuses) {}

  bool pin(const void* memory, uint64_t bytes, uint32_t flags) {
    const std::lock_guard lock(mutex_);
    ++asked_;
    if (refuses_) {
      return false;
    }
    const uint64_t begin = number(memory);
    const std::optional<Shared> shared = shared_at(begin);
    if (!shared || begin + bytes > shared->end || begin % 4096 != 0 || bytes % 4096 != 0) {
      broken("pinned what is not shared memory", begin);
    }
    if (shared->read_only != ((flags & QUENCH_PIN_READ_ONLY) != 0)) {
      broken("pinned as if it could be written, or not", begin);
    }
    const auto next = ends_.lower_bound(begin);
    if ((next != ends_.end() && next->first < begin + bytes) ||
        (next != ends_.begin() && std::prev(next)->second > begin)) {
      broken("pinned twice", begin);
    }
    ends_.emplace(begin, begin + bytes);
    return true;
  }

  void unpin(const void* memory) {
    const std::lock_guard lock(mutex_);
    const auto found = ends_.find(number(memory));
    if (found == ends_.end()) {
      broken("unpinned what is not pinned", number(memory));
    }
    if (!shared_at(found->first)) {
      broken("unmapped while it was pinned", found->first);
    }
    ends_.erase(found);
  }

  // Before bytes of host memory are copied to or from a device.
  void copies(const void* data, uint64_t bytes) {
    if (bytes == 0) {
      return;
    }
    const std::lock_guard lock(mutex_);
    const uint64_t begin = number(data);
    for (const auto& [from, end] : ends_) {
      if (begin >= from && begin + bytes <= end) {
        ++pinned_copies_;
        return;
      }
      if (begin < end && begin + bytes > from) {
        broken("a copy in what is pinned in part", begin);
      }
    }
    if (shared_at(begin)) {
      if (!refuses_) {
        broken("a copy in shared memory that is not pinned", begin);
      }
      ++other_copies_;
    }
  }

  // When the model closes. Says what happened.
  void close() {
    const std::lock_guard lock(mutex_);
    if (!ends_.empty()) {
      broken("pinned when the model closes", ends_.begin()->first);
    }
    std::fprintf(stderr, "pins: %" PRIu64 " asked, %" PRIu64 " pinned copies, %" PRIu64 " others\n",
                 asked_, pinned_copies_, other_copies_);
    asked_ = pinned_copies_ = other_copies_ = 0;
  }

 private:
  struct Shared {
    uint64_t end;
    bool read_only;
  };

  static uint64_t number(const void* at) { return reinterpret_cast<uint64_t>(at); }

  [[noreturn]] static void broken(const char* what, uint64_t at) {
    std::fprintf(stderr, "pins: %s: %" PRIx64 "\n", what, at);
    std::abort();
  }

  // The mapping of shared memory that an address is in, as the system tells.
  static std::optional<Shared> shared_at(uint64_t at) {
    std::FILE* maps = std::fopen("/proc/self/maps", "r");
    char line[4096];
    std::optional<Shared> out;
    while (!out && maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
      uint64_t begin = 0;
      uint64_t end = 0;
      char rights[8] = {};
      if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &begin, &end, rights) == 3 &&
          at >= begin && at < end) {
        if (std::strstr(line, "/memfd:quench") == nullptr) {
          break;
        }
        out = Shared{end, rights[1] != 'w'};
      }
    }
    if (maps != nullptr) {
      std::fclose(maps);
    }
    return out;
  }

  const bool refuses_;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> ends_;  // by where a range begins
  uint64_t asked_ = 0;
  uint64_t pinned_copies_ = 0;
  uint64_t other_copies_ = 0;
};

}  // namespace quench::test
