// Which process this is, among those of all machines that share a file system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quench {

// The kernel's id of the time since it was started; "" where it tells none.
std::string boot_id();
// As `hostname` prints it, with control characters escaped.
std::string host_name();
// When the process began, in clock ticks since boot, as /proc has it: tells a process from a later
// one of the same number. 0 where no such process can be seen.
uint64_t process_start(int64_t pid);

struct ProcessIdentity {
  // 8 hexadecimal digits, of boot and namespace of process numbers: only there `pid` means
  // something.
  std::string place;
  int64_t pid = 0;
  uint64_t start = 0;
};

ProcessIdentity this_process();
// Whether the process still runs; nothing where that cannot be known, because it is of another
// place. (/proc may hide processes of other users: ask only about those of this one.)
std::optional<bool> is_running(const ProcessIdentity& process);

}  // namespace quench
