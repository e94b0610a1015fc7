#include "core/apart/scratch_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/io/process_identity.hpp"
#include "core/parse_number.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "quench-worker-";
constexpr const char* kLock = ".in-use";  // flock'ed by the host, which a killed one no longer is

fs::path temporary_folder() {
  const char* set = std::getenv("TMPDIR");
  return set != nullptr && *set != '\0' ? set : "/tmp";
}

// Whether the process that made the folder is gone. Its number stands in the name, so that a folder
// in use stays even where locks do not hold.
bool is_orphan(const std::string& name) {
  const std::string_view rest = std::string_view(name).substr(std::string_view(kPrefix).size());
  const size_t dash = rest.find('-');
  const auto maker = parse_number<pid_t>(rest.substr(0, dash));
  return dash != std::string_view::npos && maker && *maker > 0 && process_start(*maker) == 0;
}

// Folders of this user whose maker is gone and whose lock nobody holds: either sign alone may be
// wrong, the lock on a file system that only pretends, the number in another container. A folder
// without a lock is just being made.
void remove_abandoned(const fs::path& in) {
  std::error_code failed;
  fs::directory_iterator entries(in, failed);
  for (; !failed && entries != fs::directory_iterator(); entries.increment(failed)) {
    const fs::path& folder = entries->path();
    struct stat status {};
    const std::string base = folder.filename().string();
    if (!base.starts_with(kPrefix) || !is_orphan(base) || lstat(folder.c_str(), &status) != 0 ||
        !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
      continue;
    }
    const Descriptor lock(open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }
  }
}

}  // namespace

ScratchFolder::ScratchFolder() {
  const fs::path in = temporary_folder();
  remove_abandoned(in);
  std::string name = (in / kPrefix).string() + std::to_string(getpid()) + "-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: no folder can be made there", in.string());
  }
  path_ = name;
  // Locked before it has its name: whoever finds it finds it in use.
  lock_ = Descriptor(open(path_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!lock_ || flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 ||
      linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(lock_.get())).c_str(), AT_FDCWD,
             (path_ / kLock).c_str(), AT_SYMLINK_FOLLOW) != 0) {
    lock_.reset();  // a file system without locks: a killed host leaves the folder
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace quench
