#include "tests/support/pretended_device/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace {

constexpr size_t kReserved = size_t{16} << 30;  // of address space; pages exist once written
constexpr size_t kPage = 4096;

struct Block {
  size_t bytes;  // that were asked for
  size_t size;   // in whole pages
};

// One file, mapped twice: `closed` has the device's addresses, `open` is for its own code.
struct Pages {
  std::mutex mutex;
  std::byte* closed = nullptr;
  std::byte* open = nullptr;
  std::map<size_t, Block> blocks;  // by offset: in use
  std::map<size_t, size_t> gaps;   // offset, size: given back, below `top`
  size_t top = 0;
  int inside = 0;
  size_t bytes = 0;
  size_t peak = 0;
  size_t free = said_free();

  // What a test says of another process's device, or 1 GiB.
  static size_t said_free() {
    const char* said = std::getenv("PRETENDED_FREE_BYTES");
    return said != nullptr ? std::strtoull(said, nullptr, 10) : size_t{1} << 30;
  }

  Pages() {
    const int file = memfd_create("pretended", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(kReserved)) != 0) {
      std::abort();
    }
    const auto map = [&](int protection) {
      void* made = mmap(nullptr, kReserved, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
      if (made == MAP_FAILED) {
        std::abort();
      }
      return static_cast<std::byte*>(made);
    };
    closed = map(PROT_NONE);
    open = map(PROT_READ | PROT_WRITE);
    close(file);
  }

  // Whether the device's addresses can be used.
  void protect(bool usable) const {
    if (top > 0 && mprotect(closed, top, usable ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) {
      std::abort();
    }
  }

  size_t take(size_t size) {
    const auto fits =
        std::find_if(gaps.begin(), gaps.end(), [&](const auto& gap) { return gap.second >= size; });
    if (fits == gaps.end()) {
      return std::exchange(top, top + size);
    }
    const auto [at, length] = *fits;
    gaps.erase(fits);
    std::memset(open + at, 0, size);
    if (length > size) {
      gaps.emplace(at + size, length - size);
    }
    return at;
  }

  void give_back(size_t at, size_t size) {
    const auto next = gaps.find(at + size);
    if (next != gaps.end()) {
      size += next->second;
      gaps.erase(next);
    }
    const auto after = gaps.lower_bound(at);
    if (after != gaps.begin() && std::prev(after)->first + std::prev(after)->second == at) {
      std::prev(after)->second += size;
    } else {
      gaps.emplace(at, size);
    }
  }
};

Pages& pages() {
  static auto* all = new Pages;  // what is released while the process ends finds it there
  return *all;
}

}  // namespace

void* pretended_allocate(size_t bytes) {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  const size_t size = std::max<size_t>(1, (bytes + kPage - 1) / kPage) * kPage;
  if (bytes > kReserved || size > kReserved - all.top) {
    return nullptr;
  }
  const size_t at = all.take(size);
  all.protect(all.inside > 0);
  all.blocks.emplace(at, Block{bytes, size});
  all.bytes += bytes;
  all.peak = std::max(all.peak, all.bytes);
  return all.closed + at;
}

void pretended_release(void* memory) {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  const auto at = static_cast<size_t>(static_cast<std::byte*>(memory) - all.closed);
  const auto found = all.blocks.find(at);
  if (found == all.blocks.end()) {
    std::abort();  // not of here, or released twice
  }
  all.bytes -= found->second.bytes;
  all.give_back(at, found->second.size);
  all.blocks.erase(found);
}

void* pretended_inside(const void* memory) {
  const Pages& all = pages();
  const auto address = reinterpret_cast<uintptr_t>(memory);
  const auto closed = reinterpret_cast<uintptr_t>(all.closed);
  const bool is_ours = address >= closed && address - closed < kReserved;
  return is_ours ? all.open + (address - closed) : const_cast<void*>(memory);
}

namespace {

struct Pins {
  std::mutex mutex;
  std::map<uintptr_t, uintptr_t> ends;  // by beginning
  // The first range that ends behind `begin`.
  auto behind(uintptr_t begin) {
    return std::find_if(ends.begin(), ends.end(),
                        [&](const auto& range) { return range.second > begin; });
  }
};

Pins& pins() {
  static auto* all = new Pins;
  return *all;
}

}  // namespace

int pretended_pin(const void* memory, size_t bytes) {
  Pins& all = pins();
  const std::lock_guard lock(all.mutex);
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const auto next = all.behind(begin);
  if (next != all.ends.end() && next->first < begin + bytes) {
    return 0;
  }
  all.ends.emplace(begin, begin + bytes);
  return 1;
}

int pretended_unpin(const void* memory) {
  Pins& all = pins();
  const std::lock_guard lock(all.mutex);
  return static_cast<int>(all.ends.erase(reinterpret_cast<uintptr_t>(memory)));
}

void pretended_copies(const void* memory, size_t bytes) {
  Pins& all = pins();
  const std::lock_guard lock(all.mutex);
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  const auto next = all.behind(begin);
  const bool outside = next == all.ends.end() || next->first >= begin + bytes;
  if (bytes > 0 && !outside && (next->first > begin || next->second < begin + bytes)) {
    std::fputs("pretended: a copy of memory that is page-locked in part\n", stderr);
    std::abort();
  }
}

void pretended_count(const char* name) {
  static const char* const file = std::getenv("PRETENDED_CENSUS");
  if (file == nullptr) {
    return;
  }
  static std::mutex mutex;
  static auto* counts = new std::map<std::string, size_t>;
  const std::lock_guard lock(mutex);
  if (counts->empty()) {
    std::atexit([] {
      if (std::FILE* out = std::fopen(file, "w")) {
        for (const auto& [what, count] : *counts) {
          std::fprintf(out, "%zu %s\n", count, what.c_str());
        }
        std::fclose(out);
      }
    });
  }
  ++(*counts)[name];
}

void pretended_enter() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  if (all.inside++ == 0) {
    all.protect(true);
  }
}

void pretended_leave() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  if (--all.inside == 0) {
    all.protect(false);
  }
}

void pretended_free_bytes(size_t bytes) {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  all.free = bytes;
}

size_t pretended_free() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  return all.free;
}

size_t pretended_bytes() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  return all.bytes;
}

size_t pretended_peak() {
  Pages& all = pages();
  const std::lock_guard lock(all.mutex);
  return std::exchange(all.peak, all.bytes);
}
