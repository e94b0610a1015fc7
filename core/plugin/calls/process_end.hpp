// Plugins run in this process, so any of them can end it: by a crash, by an exception that leaves a
// C function, by exit. After watch_process_end(), an end that the host did not ask for prints one
// line on stderr (the call, the work, how to continue) and never counts as success.
//
// Nothing in the process notices SIGKILL, or an exit_group that bypasses libc's functions; the
// status file of a run's attempt then says "running" about a process that no longer exists.
#pragma once

#include <optional>

namespace quench {

// Handles SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS and SIGTRAP on their own stack, and
// std::terminate. The process then ends as it would have without the handler (including a core
// dump), but with `code` where memory ended and no error can be returned. libc's exit functions
// return `code` if the host did not expect the end. Call it once, on the main thread.
void watch_process_end(int code);

// The work is done: from now on the process may end with this code, no matter who ends it.
void expect_process_end(int code) noexcept;

// Ends the process immediately, without destructors. For the host's signal handlers.
[[noreturn]] void end_process(int code) noexcept;

// For the functions that replace libc's (cli/exit_functions.cpp): prints the line if it is due and
// returns the code for the process to end with after `function` was called with `code`. Nothing if
// the end is the caller's own business, as in a forked process.
std::optional<int> code_of_end(const char* function, int code) noexcept;

// Prints "waiting for quantizer gptq: quantize (...); press Ctrl-C again to stop now" on stderr.
// For the host's signal handlers.
void say_what_is_waited_for() noexcept;

}  // namespace quench
