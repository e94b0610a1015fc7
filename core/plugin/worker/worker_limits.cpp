#include "core/plugin/worker/worker_limits.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <system_error>

namespace quench {

namespace {

namespace fs = std::filesystem;

// More than any method needs, and few enough to be looked at each second.
constexpr uint64_t kMostFiles = 100000;

struct OnDisk {
  uint64_t bytes = 0;  // that it takes, which a sparse file does less than it is long
  uint64_t files = 0;
  bool is_whole = true;  // every folder could be listed
};

// All beneath a folder, which changes meanwhile; of kMostFiles + 1 at most.
OnDisk on_disk(const fs::path& folder) {
  OnDisk out;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end;
       !error && entry != end && out.files <= kMostFiles; entry.increment(error)) {
    struct stat status {};
    ++out.files;
    if (::lstat(entry->path().c_str(), &status) == 0) {
      out.bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    }
  }
  out.is_whole = error != std::errc::permission_denied;
  return out;
}

}  // namespace

void SilenceClock::count(bool is_log_line, int pauses, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  last_ = now;
  last_beside_ = is_log_line ? last_beside_ : now;
  pauses_ += pauses;
}

std::string SilenceClock::exceeded(Clock::time_point since, Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  if (seconds_ <= 0 || pauses_ > 0) {
    return "";
  }
  const auto passed = [&](Clock::time_point sign) {
    return std::chrono::duration<double>(now - std::max(sign, since)).count();
  };
  if (passed(last_) >= seconds_) {
    return fmt::format("gave no sign for {:.0f} s", seconds_);
  }
  if (passed(last_beside_) >= kMostOfLogLines * seconds_) {
    return fmt::format("gave no sign but log lines for {:.0f} s", kMostOfLogLines * seconds_);
  }
  return "";
}

std::string RoomWatch::exceeded(Clock::time_point now) {
  constexpr std::chrono::seconds kBetweenLooks{1};
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) {
    return "";
  }
  if (found_.empty() && (!looked_ || now - *looked_ >= kBetweenLooks)) {
    looked_ = now;
    found_ = look();
  }
  return found_;
}

std::string RoomWatch::look() const {
  if (limits_.memory_bytes > 0) {
    const uint64_t held = worker_.memory().value_or(0);
    if (held > limits_.memory_bytes) {
      return fmt::format("held {} MiB of memory, more than the {} MiB that it may", held >> 20,
                         limits_.memory_bytes >> 20);
    }
  }
  if (!scratch_.empty() && limits_.scratch_bytes > 0) {
    const auto [bytes, files, is_whole] = on_disk(scratch_);
    if (!is_whole) {
      return "made a folder in its folder that cannot be listed";
    }
    if (bytes > limits_.scratch_bytes) {
      return fmt::format("wrote {} MiB into its folder, more than the {} MiB that it may",
                         bytes >> 20, limits_.scratch_bytes >> 20);
    }
    if (files > kMostFiles) {
      return fmt::format("made more than {} files in its folder", kMostFiles);
    }
  }
  return "";
}

}  // namespace quench
