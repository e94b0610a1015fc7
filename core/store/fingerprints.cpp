#include "core/store/fingerprints.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/base/io/lease.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/json_members.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostFiles = 10'000;
constexpr size_t kLargestEntry = 64 << 20;  // checksums of weights: 16 bytes for 2^17 of them
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kRacy = 2 * kSecond;  // also the coarsest timestamp of a file system (FAT)

struct Seen {
  std::string text;  // path and identity of every file
  int64_t newest_ns = 0;
  size_t files = 0;
};

bool add_file(const fs::path& path, const struct stat& status, Seen& seen) {
  if (!S_ISREG(status.st_mode)) {
    return true;  // pipes and devices have no content to compare
  }
  const int64_t modified = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
  const int64_t changed = status.st_ctim.tv_sec * kSecond + status.st_ctim.tv_nsec;
  seen.newest_ns = std::max({seen.newest_ns, modified, changed});
  const std::string& name = path.native();
  fmt::format_to(std::back_inserter(seen.text), "{}:{}\n{} {} {} {} {}\n", name.size(), name,
                 status.st_dev, status.st_ino, status.st_size, modified, changed);
  return ++seen.files <= kMostFiles;
}

bool see_file(const fs::path& path, Seen& seen) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && add_file(path, status, seen);
}

bool see(const fs::path& path, Seen& seen) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    return false;
  }
  if (!S_ISDIR(status.st_mode)) {
    return add_file(path, status, seen);
  }
  std::vector<fs::path> below;
  std::error_code error;
  fs::recursive_directory_iterator entries(path, error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    std::error_code gone;
    if (!entries->is_directory(gone)) {
      below.push_back(entries->path());
    }
    if (below.size() > kMostFiles) {
      return false;
    }
  }
  std::sort(below.begin(), below.end());
  return !error && std::all_of(below.begin(), below.end(),
                               [&](const fs::path& file) { return see_file(file, seen); });
}

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

// Atomic but not synced: an entry lost in a power failure is measured again.
void write_entry(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  // Beside the 256 folders, where one listing finds what a kill leaves.
  const fs::path temporary = temporary_beside(path.parent_path(), ".tmp");
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return;
  }
  const bool written =
      ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool closed = ::close(descriptor) == 0;
  if (!written || !closed || ::rename(temporary.c_str(), path.c_str()) != 0) {
    ::unlink(temporary.c_str());
  }
}

}  // namespace

Fingerprints::Fingerprints(fs::path home, bool fresh) : home_(std::move(home)), fresh_(fresh) {}

fs::path Fingerprints::file_of(const std::string& name) const {
  return home_ / "fingerprints" / name.substr(0, 2) / (name + ".json");
}

Fingerprints::Stamp Fingerprints::look(const nlohmann::json& what,
                                       const std::vector<fs::path>& files) const {
  Stamp out;
  Seen seen;
  for (const fs::path& file : files) {
    std::error_code error;
    if (!see(file.is_absolute() ? file : fs::absolute(file, error), seen)) {
      return out;
    }
  }
  out.what_ = what;
  out.files_ = files;
  out.newest_ns_ = seen.newest_ns;
  out.name_ = sha256_hex(canonical_json(what) + "\n" + seen.text);
  return out;
}

std::optional<std::string> Fingerprints::find(const nlohmann::json& what,
                                              const std::vector<fs::path>& files) const {
  if (home_.empty()) {
    return std::nullopt;
  }
  const Stamp stamp = look(what, files);
  if (!stamp.complete()) {
    return std::nullopt;
  }
  if (const std::lock_guard lock(mutex_); fresh_ && !own_.contains(stamp.name_)) {
    return std::nullopt;
  }
  try {
    const std::string path = file_of(stamp.name_).string();
    const std::string entry = read_sealed_file(path, "fingerprint", kLargestEntry);
    if (plain_text(json_member(entry, "name")) == stamp.name_) {
      const std::string_view measured = json_member(entry, "measured");
      const std::string_view plain = plain_text(measured);
      return plain.size() + 2 == measured.size() ? std::string(plain)
                                                 : parse_json(measured, path).get<std::string>();
    }
  } catch (const Error&) {  // missing or does not verify: measure again
  }
  return std::nullopt;
}

void Fingerprints::remember(const Stamp& before, const std::string& measured) const {
  if (home_.empty() || !before.complete() || now_ns() - before.newest_ns_ < kRacy) {
    return;
  }
  // The file changed during the measurement: the value belongs to neither state.
  if (look(before.what_, before.files_).name_ != before.name_) {
    return;
  }
  const nlohmann::json entry = {
      {"name", before.name_}, {"what", before.what_}, {"measured", measured}};
  const std::string text = seal("fingerprint", canonical_json(entry)) + "\n";
  if (text.size() > kLargestEntry) {
    return;  // it would not be read
  }
  write_entry(file_of(before.name_), text);
  const std::lock_guard lock(mutex_);
  own_.insert(before.name_);
}

void Fingerprints::remember(const nlohmann::json& what, const std::vector<fs::path>& files,
                            const std::string& measured) const {
  remember(look(what, files), measured);
}

}  // namespace quench
