// Tells whether the owner of a file or folder is still alive. What a process works on carries its
// identity (process_identity.hpp), in its name or in its content, and the process gives signs of
// life: it touches the folder, or raises a number in a file. The owner is gone if its process does
// not run any more, where that can be seen from here; else if it has been silent for too long.
//
// There are no locks in this: some network file systems grant a lock to everybody.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/io/process_identity.hpp"

namespace quench {

// Gives a sign of life after every `interval`, on a thread of its own, until it is destroyed.
class Beat {
 public:
  Beat(std::chrono::milliseconds interval, std::function<void()> sign);
  ~Beat();
  Beat(const Beat&) = delete;
  Beat& operator=(const Beat&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

// ---- Temporaries: files and folders that get their name when they are whole.

// A name that nothing has yet, beside `path`: ".<its name>.<identity of this process>-<8
// hex><ending>". `ending` begins with ".".
std::filesystem::path temporary_beside(const std::filesystem::path& path, std::string_view ending);

// How often the owner of such a folder touches it.
inline constexpr std::chrono::minutes kTouchInterval{10};

// Whether `path` is a temporary of this user on which no process works any more: its process has
// ended, or belongs to another machine and has not touched it for a day. `now_seconds`: time of the
// file system's clock, which alone decides.
bool is_abandoned(const std::filesystem::path& path, int64_t now_seconds);

// Removes the abandoned temporaries beside `mine`, which this process has just made.
void remove_abandoned_beside(const std::filesystem::path& mine);

// Removes the temporaries in `parent` whose processes are known to have ended.
void remove_ended(const std::filesystem::path& parent);

// ---- Numbers that an owner raises.

// What is known of an owner's life.
struct Life {
  std::optional<bool> runs;  // its process; nothing if that cannot be seen from here
  bool moved = false;        // the number was seen to grow
  std::chrono::steady_clock::duration silence{};  // since it last did, or was first looked at
};

// Remembers when the numbers were first seen: they count by this process's own clock, because the
// clocks of machines differ.
class LifeWatch {
 public:
  using Clock = std::chrono::steady_clock;
  // `name`: any that tells the owner from others. Without an identity only the silence is known.
  Life look(const std::string& name, const std::optional<ProcessIdentity>& owner, uint64_t number,
            Clock::time_point now);

 private:
  struct Seen {
    uint64_t number = 0;
    Clock::time_point since;
    bool moved = false;
  };
  std::map<std::string, Seen> seen_;
};

}  // namespace quench
