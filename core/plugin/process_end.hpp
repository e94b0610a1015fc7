// Plugins run in this process, so any of them can end it: by a crash, by an exception that leaves a
// C function, by exit. From watch_process_end() on, an end that the host did not ask for is said in
// one line on stderr (who was called, for what, how to go on) and is never a success.
//
// Nothing in the process sees SIGKILL or an exit_group that is called without libc's functions; the
// status file of a run's attempt then says "running" of a process that is gone.
#pragma once

#include <optional>

namespace quench {

// Handles SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS and SIGTRAP on a stack of their own, and
// what std::terminate does. The process then ends as it would have without (a core is left where
// cores are left). libc's exit functions give `code` where the host did not expect the end. Call it
// on the main thread, once.
void watch_process_end(int code);

// The work is done: the process may end from now on, with this code, whoever ends it.
void expect_process_end(int code) noexcept;

// Ends the process at once, without destructors. For the host's signal handlers.
[[noreturn]] void end_process(int code) noexcept;

// For the functions that stand in place of libc's (cli/exit_functions.cpp): the code with which
// the process is to end now that `function` was called with `code`, after the line where that is
// due. Nothing where that is the caller's own business: a process that was forked off, say.
std::optional<int> code_of_end(const char* function, int code) noexcept;

// "waiting for quantizer gptq: quantize (...); press Ctrl-C again to stop now" on stderr. For the
// host's signal handlers.
void say_what_is_waited_for() noexcept;

}  // namespace quench
