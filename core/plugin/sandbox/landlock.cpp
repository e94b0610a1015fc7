#include "core/plugin/sandbox/landlock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "core/error.hpp"
#include "core/plugin/sandbox/system_paths.hpp"

namespace quench {

namespace {

// The kernel's ABI 7, of linux/landlock.h; the header of Debian 12 ends with ABI 2. A kernel takes
// a longer structure than its own if what it does not know is 0.
struct RulesetAttributes {
  uint64_t handled_access_fs;
  uint64_t handled_access_net;  // ABI 4
  uint64_t scoped;              // ABI 6
};

struct __attribute__((packed)) PathBeneath {
  uint64_t allowed_access;
  int32_t parent_fd;
};

constexpr unsigned kVersion = 1;  // flag of landlock_create_ruleset
constexpr int kRulePathBeneath = 1;

constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kWriteFile = 1 << 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadDir = 1 << 3;
constexpr uint64_t kRemoveDir = 1 << 4;
constexpr uint64_t kRemoveFile = 1 << 5;
constexpr uint64_t kMakeDir = 1 << 7;
constexpr uint64_t kMakeReg = 1 << 8;
constexpr uint64_t kMakeFifo = 1 << 10;
constexpr uint64_t kMakeSym = 1 << 12;
constexpr uint64_t kUpToMakeSym = (1 << 13) - 1;  // ABI 1
constexpr uint64_t kRefer = 1 << 13;              // ABI 2: move between folders
constexpr uint64_t kTruncate = 1 << 14;           // ABI 3
constexpr uint64_t kIoctlDevice = 1 << 15;        // ABI 5
constexpr uint64_t kTcp = 3;                      // ABI 4: bind, connect
constexpr uint64_t kScopes = 3;                   // ABI 6: abstract sockets, signals

// Executing is allowed for programs alone that the process is to become: loading a library is
// reading.
constexpr uint64_t kToRead = kReadFile | kReadDir;
constexpr uint64_t kToWrite = kToRead | kWriteFile | kRemoveDir | kRemoveFile | kMakeDir |
                              kMakeReg | kMakeFifo | kMakeSym | kRefer | kTruncate;
constexpr uint64_t kDevice = kReadFile | kWriteFile | kTruncate | kIoctlDevice;
constexpr uint64_t kToStart = kReadFile | kExecute;
// What a rule on something that is no folder may speak of.
constexpr uint64_t kOfFiles = kExecute | kReadFile | kWriteFile | kTruncate | kIoctlDevice;

uint64_t known_access(int abi) {
  return kUpToMakeSym | (abi >= 2 ? kRefer : 0) | (abi >= 3 ? kTruncate : 0) |
         (abi >= 5 ? kIoctlDevice : 0);
}

std::string reason(int number) {
  return std::generic_category().message(number);
}

class Ruleset {
 public:
  explicit Ruleset(int abi) : access_(known_access(abi)) {
    RulesetAttributes attributes{};
    attributes.handled_access_fs = access_;
    attributes.handled_access_net = abi >= 4 ? kTcp : 0;
    attributes.scoped = abi >= kLandlockWithScopes ? kScopes : 0;
    descriptor_ =
        static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
    if (descriptor_ < 0) {
      fail(QUENCH_FAILED_PRECONDITION, "sandbox: Landlock {} makes no set of rules: {}", abi,
           reason(errno));
    }
  }
  ~Ruleset() { ::close(descriptor_); }
  Ruleset(const Ruleset&) = delete;
  Ruleset& operator=(const Ruleset&) = delete;

  // Allows `access` to `path` and what is beneath it. Returns 0, or why the path cannot be opened.
  int allow(const std::string& path, uint64_t access) {
    const int opened = ::open(path.c_str(), O_PATH | O_CLOEXEC);
    if (opened < 0) {
      return errno;
    }
    struct stat status {};
    const bool folder = ::fstat(opened, &status) == 0 && S_ISDIR(status.st_mode);
    PathBeneath rule{access & access_ & (folder ? ~uint64_t{0} : kOfFiles), opened};
    const long added = ::syscall(SYS_landlock_add_rule, descriptor_, kRulePathBeneath, &rule, 0);
    const int number = errno;
    // A rule holds an inode. Those of /proc are made anew when their entry was dropped from the
    // cache, and no rule would know them: an open descriptor keeps the entry.
    if (added != 0 || !path.starts_with("/proc/")) {
      ::close(opened);
    }
    if (added != 0) {
      fail(QUENCH_FAILED_PRECONDITION, "sandbox: {}: no rule of Landlock can be made: {}",
           printable(path, 4096), reason(number));
    }
    return 0;
  }

  void enforce() const {
    if (::syscall(SYS_landlock_restrict_self, descriptor_, 0) != 0) {
      fail(QUENCH_FAILED_PRECONDITION, "sandbox: the rules of Landlock do not come into force: {}",
           reason(errno));
    }
  }

 private:
  uint64_t access_;  // all that the kernel can restrict
  int descriptor_ = -1;
};

uint64_t access_of(SystemPath::Use use) {
  switch (use) {
    case SystemPath::Use::kRead:
      return kToRead;
    case SystemPath::Use::kWrite:
      return kToRead | kWriteFile | kTruncate;
    case SystemPath::Use::kDevice:
      return kToRead | kDevice;
  }
  return 0;
}

void allow_all(Ruleset& rules, const std::vector<std::filesystem::path>& paths, uint64_t access) {
  for (const std::filesystem::path& path : paths) {
    if (const int error = rules.allow(path, access); error != 0) {
      fail(QUENCH_NOT_FOUND, "sandbox: {}: cannot be opened: {}", printable(path.string(), 4096),
           reason(error));
    }
  }
}

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, size_t{0}, kVersion);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

void restrict_files(const SandboxRequest& request, int abi) {
  Ruleset rules(abi);
  for (const SystemPath& each : system_paths(request.profile)) {
    rules.allow(each.path, access_of(each.use));  // not every system has all of them
  }
  allow_all(rules, request.readable, kToRead);
  allow_all(rules, request.writable, kToWrite);
  if (!request.executable.empty()) {
    for (const std::string& loader : program_loaders()) {
      rules.allow(loader, kToStart);
    }
    allow_all(rules, request.executable, kToStart);
  }
  rules.enforce();
}

}  // namespace quench
