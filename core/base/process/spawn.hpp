// What ChildProcess::start does in the kernel: posix_spawn(3) with what that lacks, a child that
// ends with its starter, closes what it is not given and leaves no core.
#pragma once

#include <sys/types.h>

namespace quench {

struct Command;

// Starts the program and returns the id of a child that has no owner yet. Throws std::system_error
// with the reason that the child met, after it is gone.
pid_t spawn(const Command& command);

}  // namespace quench
