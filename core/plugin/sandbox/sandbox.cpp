#include "core/plugin/sandbox/sandbox.hpp"

#include <sys/prctl.h>

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

}  // namespace

SandboxAbilities sandbox_abilities() {
  SandboxAbilities out;
  out.landlock_abi = landlock_abi();
  out.seccomp = has_syscall_filters();
  out.no_network = out.seccomp;
  out.scoped = out.landlock_abi >= kLandlockWithScopes;
  out.text = fmt::format(
      "{}, {}seccomp",
      out.landlock_abi > 0 ? fmt::format("landlock {}", out.landlock_abi) : "no landlock",
      out.seccomp ? "" : "no ");
  return out;
}

std::string enter_sandbox(const SandboxRequest& request) {
  check_single_thread();
  // No program that this process could start would have more rights than it; the kernel asks for
  // this before it lets a user confine himself.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "sandbox: the process cannot give up new privileges: {}",
         std::generic_category().message(errno));
  }
  const SandboxAbilities abilities = sandbox_abilities();
  if (abilities.landlock_abi > 0) {
    restrict_files(request, abilities.landlock_abi);
  }
  if (abilities.seccomp) {
    filter_syscalls(abilities.landlock_abi);
  }
  return abilities.text;
}

}  // namespace quench
