#include "core/plugin/sandbox/sandbox.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "core/error.hpp"
#include "core/plugin/sandbox/landlock.hpp"
#include "core/plugin/sandbox/syscall_filter.hpp"

namespace quench {

namespace {

// Both Landlock and seccomp bind the calling thread and those that it starts, no others.
void check_single_thread() {
  std::error_code unreadable;
  const std::filesystem::directory_iterator threads("/proc/self/task", unreadable);
  const auto count = unreadable ? 1 : std::distance(begin(threads), end(threads));
  if (count != 1) {
    fail(QUENCH_FAILED_PRECONDITION,
         "sandbox: the process has {} threads, wanted 1: the others would not be confined", count);
  }
}

// A file without an end would take the disk from all others before the host looks at it again.
void limit_files() {
  rlimit size{};
  if (getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_max > kLargestFileBytes) {
    size.rlim_cur = std::min<rlim_t>(size.rlim_cur, kLargestFileBytes);
    size.rlim_max = kLargestFileBytes;
    setrlimit(RLIMIT_FSIZE, &size);
  }
}

}  // namespace

SandboxAbilities sandbox_abilities(int most_landlock) {
  SandboxAbilities out;
  out.landlock_abi = std::min(landlock_abi(), most_landlock);
  out.seccomp = has_syscall_filters();
  out.no_network = out.seccomp;
  out.scoped = out.landlock_abi >= kLandlockWithScopes;
  // Where there are both, the filter refuses what an old Landlock does not know.
  const char* missing = out.landlock_abi > 0 ? (out.seccomp ? "" : "connections, other processes")
                        : out.seccomp        ? "files, /proc of others"
                                             : "files, connections, other processes";
  out.is_whole = *missing == '\0';
  out.text = fmt::format(
      "{}, {}seccomp{}{}",
      out.landlock_abi > 0 ? fmt::format("landlock {}", out.landlock_abi) : "no landlock",
      out.seccomp ? "" : "no ", out.is_whole ? "" : "; not enforced: ", missing);
  return out;
}

std::string enter_sandbox(const SandboxRequest& request, const SandboxAbilities& abilities) {
  check_single_thread();
  // No program that this process could start would have more rights than it; the kernel asks for
  // this before it lets a user confine himself.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "sandbox: the process cannot give up new privileges: {}",
         std::generic_category().message(errno));
  }
  limit_files();
  if (abilities.landlock_abi > 0) {
    restrict_files(request, abilities.landlock_abi);
  }
  if (abilities.seccomp) {
    filter_syscalls(abilities.landlock_abi, !request.executable.empty());
  }
  return abilities.text;
}

}  // namespace quench
