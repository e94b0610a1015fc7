// Which system calls a confined process is refused: a program of seccomp, which the kernel asks at
// every call. It sees numbers, not what pointers point to, so files are Landlock's.
#pragma once

namespace quench {

// Whether the kernel takes such programs.
bool has_syscall_filters();

// Refuses from now on to make processes and programs, to reach other processes, to open sockets of
// the network or connect any, to change owners, modes and times of files, to set priorities, to
// watch files, to hold memory that the host does not see, and whatever administers the system.
// Threads stay possible. `landlock_abi`: what an old Landlock cannot refuse is refused here.
// `becomes_program`: the process may become another program, which Landlock limits. Throws
// Error(FAILED_PRECONDITION).
void filter_syscalls(int landlock_abi, bool becomes_program);

}  // namespace quench
