#include "core/hub/fetch/incomplete_blob.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <random>
#include <system_error>
#include <vector>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".incomplete";

[[noreturn]] void fail_at(const fs::path& path, const char* doing) {
  const int number = errno;
  fail(
      number == ENOSPC || number == EDQUOT ? QUENCH_RESOURCE_EXHAUSTED : QUENCH_FAILED_PRECONDITION,
      "{}: {} failed: {}", path.string(), doing, std::generic_category().message(number));
}

fs::path new_name(const fs::path& blobs, const HubFile& file) {
  std::random_device random;
  return blobs / fmt::format("{}.{:08x}{}", file.hash, random(), kEnding);
}

struct Leftover {
  uint64_t bytes;
  fs::path path;
};

// The largest first. Longer ones than the file are none of it.
std::vector<Leftover> leftovers(const fs::path& blobs, const HubFile& file) {
  std::vector<Leftover> out;
  std::error_code error;
  for (fs::directory_iterator it(blobs, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    std::error_code gone;
    if (name.starts_with(file.hash + ".") && name.ends_with(kEnding) && it->is_regular_file(gone)) {
      const uint64_t bytes = it->file_size(gone);
      if (!gone) {
        out.push_back({bytes, it->path()});
      }
    }
  }
  std::sort(out.begin(), out.end(),
            [](const Leftover& a, const Leftover& b) { return a.bytes > b.bytes; });
  return out;
}

bool is_at(int descriptor, const fs::path& path) {
  struct stat open = {};
  struct stat named = {};
  return fstat(descriptor, &open) == 0 && lstat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

bool was_written_lately(int descriptor) {
  constexpr int64_t kLately = 60;  // seconds; a line that is silent for so long is cut
  struct stat status = {};
  return fstat(descriptor, &status) != 0 || status.st_mtim.tv_sec + kLately > std::time(nullptr);
}

// An open file that no other process writes: none has locked it, and where a second lock is granted
// as well, so that locks say nothing, it has not grown for a while.
Descriptor locked(const fs::path& path) {
  const auto opened = [&] {
    return Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  };
  const auto lock = [](const Descriptor& file) {
    return file && flock(file.get(), LOCK_EX | LOCK_NB) == 0;
  };
  Descriptor out = opened();
  if (!lock(out) || !is_at(out.get(), path)) {
    return {};
  }
  return lock(opened()) && was_written_lately(out.get()) ? Descriptor() : std::move(out);
}

// Another process may have published the same content, and somebody may read it already: to them a
// file that is replaced has changed. Theirs stays then.
bool give_name(const fs::path& from, const fs::path& blob, uint64_t size) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, blob.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  std::error_code error;
  if (errno == EEXIST && fs::is_regular_file(blob, error) && fs::file_size(blob, error) == size) {
    return unlink(from.c_str()) == 0;
  }
  return rename(from.c_str(), blob.c_str()) == 0;  // none, of another size, or no such call here
}

}  // namespace

IncompleteBlob::IncompleteBlob(const fs::path& blobs, const HubFile& file,
                               const std::atomic<bool>* cancel)
    : blobs_(blobs), file_(file), cancel_(cancel) {
  for (const Leftover& left : leftovers(blobs_, file_)) {
    if (left.bytes <= file_.size && take_over(left.path)) {
      hash_what_is_there();
      return;
    }
  }
  start_new();
}

bool IncompleteBlob::take_over(const fs::path& left) {
  Descriptor found = locked(left);
  const fs::path mine = new_name(blobs_, file_);
  if (!found || rename(left.c_str(), mine.c_str()) != 0) {
    return false;
  }
  struct stat status = {};
  if (fstat(found.get(), &status) != 0 || static_cast<uint64_t>(status.st_size) > file_.size) {
    unlink(mine.c_str());
    return false;
  }
  path_ = mine;
  descriptor_ = std::move(found);
  bytes_ = static_cast<uint64_t>(status.st_size);
  return true;
}

void IncompleteBlob::start_new() {
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && !descriptor_; ++i) {
    path_ = new_name(blobs_, file_);
    descriptor_ =
        Descriptor(open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (!descriptor_ && errno != EEXIST) {
      break;
    }
  }
  if (!descriptor_) {
    fail_at(path_, "creating");
  }
  flock(descriptor_.get(), LOCK_EX | LOCK_NB);  // where there are no locks, there is the hash
  bytes_ = 0;
  hash_what_is_there();
}

void IncompleteBlob::hash_what_is_there() {
  if (!file_.is_large()) {
    return;
  }
  sha256_.emplace();
  std::vector<char> buffer(size_t{1} << 20);
  for (uint64_t at = 0; at < bytes_;) {
    stop_if_asked(cancel_);
    const uint64_t count = std::min<uint64_t>(buffer.size(), bytes_ - at);
    read(at, buffer.data(), count);
    sha256_->update(buffer.data(), count);
    at += count;
  }
}

// By the descriptor: the name may be taken over.
void IncompleteBlob::read(uint64_t at, char* buffer, uint64_t bytes) const {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got =
        pread(descriptor_.get(), buffer + done, bytes - done, static_cast<off_t>(at + done));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      fail_at(path_, "reading");
    }
    done += static_cast<uint64_t>(got);
  }
}

void IncompleteBlob::take(uint64_t at, std::string_view piece) {
  if (at != bytes_) {
    restart();
  }
  for (std::string_view left = piece; !left.empty();) {
    const ssize_t put =
        pwrite(descriptor_.get(), left.data(), left.size(), static_cast<off_t>(bytes_));
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      fail_at(path_, "writing");
    }
    const auto count = static_cast<size_t>(put);
    if (sha256_) {
      sha256_->update(left.data(), count);
    }
    bytes_ += count;
    left.remove_prefix(count);
  }
}

void IncompleteBlob::restart() {
  if (is_at(descriptor_.get(), path_)) {
    unlink(path_.c_str());
  }
  descriptor_.reset();
  start_new();
}

bool IncompleteBlob::is_intact() {
  if (bytes_ != file_.size) {
    return false;
  }
  if (!sha256_) {
    std::string content(bytes_, '\0');
    read(0, content.data(), bytes_);
    return blob_hash(file_.hash, content) == file_.hash;
  }
  const bool intact = sha256_->hex_digest() == file_.hash;
  sha256_.reset();
  return intact;
}

FileIdentity IncompleteBlob::identity() const {
  constexpr int64_t kSecond = 1'000'000'000;
  struct stat status = {};
  if (fstat(descriptor_.get(), &status) != 0) {
    fail_at(path_, "looking at it");
  }
  FileIdentity out;
  out.device = status.st_dev;
  out.inode = status.st_ino;
  out.size = static_cast<uint64_t>(status.st_size);
  out.modified_ns = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
  return out;
}

bool IncompleteBlob::publish() {
  if (fsync(descriptor_.get()) != 0) {
    fail_at(path_, "syncing");
  }
  const fs::path blob = blobs_ / file_.hash;
  if (!is_at(descriptor_.get(), path_) || !give_name(path_, blob, file_.size)) {
    if (is_at(descriptor_.get(), path_)) {
      fail_at(path_, "renaming");
    }
    std::error_code error;  // taken over in spite of the lock
    return fs::is_regular_file(blob, error) && fs::file_size(blob, error) == file_.size;
  }
  sync_folder_of(blob);
  descriptor_.reset();
  for (const Leftover& left : leftovers(blobs_, file_)) {
    if (const Descriptor dead = locked(left.path)) {
      unlink(left.path.c_str());
    }
  }
  return true;
}

namespace {

// Removes beginnings of the files whose hashes are `of`, but those that a process writes.
template <typename Of>
void remove_leftovers(const fs::path& blobs, Of of) {
  std::error_code error;
  for (fs::directory_iterator it(blobs, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const std::string hash = name.substr(0, name.find('.'));
    std::error_code gone;
    if (name.ends_with(kEnding) && is_blob_hash(hash) && of(hash) && locked(it->path())) {
      fs::remove(it->path(), gone);
    }
  }
}

}  // namespace

void remove_published_leftovers(const fs::path& blobs) {
  remove_leftovers(blobs, [&](const std::string& hash) {
    std::error_code gone;
    return fs::exists(blobs / hash, gone);
  });
}

void remove_unwanted_leftovers(const fs::path& blobs, const std::set<std::string>& hashes) {
  remove_leftovers(blobs, [&](const std::string& hash) { return hashes.contains(hash); });
}

uint64_t bytes_left_over(const fs::path& blobs, const HubFile& file) {
  for (const Leftover& left : leftovers(blobs, file)) {
    if (left.bytes <= file.size) {
      return left.bytes;
    }
  }
  return 0;
}

}  // namespace quench
