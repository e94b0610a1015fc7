#include "core/base/io/lease.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/parse_number.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kSilence = 86400;  // seconds
// A file name may have 255 bytes, of which the identity takes fewer than 80.
constexpr size_t kShownName = 160;
constexpr size_t kRandomDigits = 8;

// The process named in a temporary's name; nothing for other names.
std::optional<ProcessIdentity> owner_in(std::string_view name) {
  if (!name.starts_with('.')) {
    return std::nullopt;
  }
  name = name.substr(0, name.rfind('.'));
  name = name.substr(name.rfind('.') + 1);
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || !is_hex(name.substr(dash + 1), kRandomDigits)) {
    return std::nullopt;
  }
  return identity_from(name.substr(0, dash));
}

void remove_abandoned_in(const fs::path& parent, int64_t now_seconds) {
  std::error_code failed;
  fs::directory_iterator entries(parent, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
    if (is_abandoned(entries->path(), now_seconds)) {
      std::error_code ignored;
      fs::remove_all(entries->path(), ignored);
    }
  }
}

}  // namespace

Beat::Beat(std::chrono::milliseconds interval, std::function<void()> sign)
    : thread_([this, interval, sign = std::move(sign)] {
        std::unique_lock<std::mutex> lock(mutex_);
        while (!wake_.wait_for(lock, interval, [this] { return stopped_; })) {
          lock.unlock();
          sign();
          lock.lock();
        }
      }) {}

Beat::~Beat() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

fs::path temporary_beside(const fs::path& path, std::string_view ending) {
  std::random_device random;
  return path.parent_path() / fmt::format(".{}.{}-{:08x}{}",
                                          path.filename().string().substr(0, kShownName),
                                          identity_text(this_process()), random(), ending);
}

bool is_abandoned(const fs::path& path, int64_t now_seconds) {
  const auto owner = owner_in(path.filename().string());
  struct stat status = {};
  // Another user's processes may be hidden, and his files are not ours to remove.
  if (!owner || lstat(path.c_str(), &status) != 0 ||
      !(S_ISDIR(status.st_mode) || S_ISREG(status.st_mode)) || status.st_uid != geteuid()) {
    return false;
  }
  const std::optional<bool> running = is_running(*owner);
  return running ? !*running : status.st_mtim.tv_sec < now_seconds - kSilence;
}

void remove_abandoned_beside(const fs::path& mine) {
  struct stat status = {};
  if (lstat(mine.c_str(), &status) == 0) {
    remove_abandoned_in(mine.parent_path(), status.st_mtim.tv_sec);
  }
}

void remove_ended(const fs::path& parent) {
  remove_abandoned_in(parent, /*now_seconds=*/0);  // at time 0 nothing has been silent for long
}

Life LifeWatch::look(const std::string& name, const std::optional<ProcessIdentity>& owner,
                     uint64_t number, Clock::time_point now) {
  const auto [entry, fresh] = seen_.try_emplace(name, Seen{number, now});
  Seen& seen = entry->second;
  if (seen.number != number) {
    seen = {number, now, true};
  }
  return {owner ? is_running(*owner) : std::nullopt, seen.moved, now - seen.since};
}

}  // namespace quench
