// Identifies this process among those of all machines that share a file system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace quench {

// What `hostname` prints, with control characters escaped.
std::string host_name();
// When the process started, in clock ticks since boot (from /proc): it distinguishes a process from
// a later one with the same id. 0 if the process cannot be seen.
uint64_t process_start(int64_t pid);

struct ProcessIdentity {
  // 8 hexadecimal digits that identify boot and pid namespace: `pid` has a meaning only
  // there.
  std::string place;
  int64_t pid = 0;
  uint64_t start = 0;
};

ProcessIdentity this_process();
// "<place>-<pid>-<start>": how files and their names state it.
std::string identity_text(const ProcessIdentity& process);
// Its inverse; nothing for other text.
std::optional<ProcessIdentity> identity_from(std::string_view text);
// Whether the process still runs; nothing if that cannot be known because it belongs to another
// place. (/proc may hide processes of other users: ask only about this user's.)
std::optional<bool> is_running(const ProcessIdentity& process);

}  // namespace quench
