#include "core/plugin/calls/process_end.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "core/error.hpp"
#include "core/plugin/calls/alternate_stack.hpp"
#include "core/plugin/calls/at_work.hpp"

namespace quench {

namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};

enum class Stage { kNotWatched, kAtWork, kDone };

struct End {
  std::atomic<Stage> stage{Stage::kNotWatched};
  std::atomic<int> code{0};
  std::atomic<pid_t> process{0};   // forked children may end as they like
  std::atomic<pid_t> reporter{0};  // the thread that reports the end
  char exception[600] = {};        // what() of the uncaught exception
  std::array<struct sigaction, kSignals.size()> before{};
};
End watched;

const char* signal_text(int signal) {
  const char* name = sigabbrev_np(signal);  // a constant of libc
  return name != nullptr ? name : "?";
}

// Prints the line once. Returns false in a forked child and for a second thread.
bool report(const SignalText& cause, bool with_note) noexcept {
  pid_t none = 0;
  if (::getpid() != watched.process ||
      !watched.reporter.compare_exchange_strong(none, ::gettid())) {
    return false;
  }
  SignalText text;
  if (!describe_call(text)) {
    text << "outside of all plugins' calls";
  }
  text << ": the process was ended by " << cause.text();
  if (with_note) {
    write_death_note(text);
  }
  describe_work(text);
  text << "\n";
  text.write_to(STDERR_FILENO);
  return true;
}

void on_fatal_signal(int number, siginfo_t* info, void*) {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == number) {
      ::sigaction(number, &watched.before[i], nullptr);
    }
  }
  const bool sent = info->si_code <= 0;  // by kill, raise or abort, so it does not come again
  const bool from_outside = info->si_code == SI_USER && info->si_pid != ::getpid();
  SignalText cause;
  cause << "SIG" << signal_text(number);
  if (number == SIGABRT && watched.exception[0] != '\0') {
    cause << " after an exception that nobody caught: " << watched.exception;
  }
  if (from_outside) {
    cause << ", which process " << int64_t{info->si_pid} << " sent";
  }
  if (watched.stage == Stage::kAtWork && !report(cause, !from_outside) &&
      watched.reporter != ::gettid() && ::getpid() == watched.process) {
    for (;;) {
      ::pause();  // the first thread ends the process
    }
  }
  if (sent) {
    ::syscall(SYS_tgkill, ::getpid(), ::gettid(), number);  // delivered when this handler returns
  }
}

// Memory ended where no exception may pass, in a destructor of a library, say. That is no crash,
// and the same command goes on. A note is left where a plugin was at work, which may want too much
// again.
void end_for_want_of_memory() noexcept {
  if (watched.stage == Stage::kNotWatched || ::getpid() != watched.process) {
    return;
  }
  if (watched.stage == Stage::kAtWork) {
    SignalText cause;
    SignalText call;
    cause << "a want of memory where no error can be returned";
    if (!report(cause, describe_call(call)) && watched.reporter != ::gettid()) {
      for (;;) {
        ::pause();  // the first thread ends the process
      }
    }
  }
  end_process(watched.code);
}

// Whether memory ended on this thread: the compiler may call std::terminate before an exception on
// its way is caught, and then nothing says which one it is.
thread_local bool memory_ended = false;

[[noreturn]] void on_no_memory() {
  memory_ended = true;
  throw std::bad_alloc();
}

[[noreturn]] void on_terminate() {
  if (!std::current_exception() && memory_ended) {
    end_for_want_of_memory();
  }
  try {
    if (std::current_exception()) {
      std::rethrow_exception(std::current_exception());
    }
  } catch (const std::bad_alloc& thrown) {
    end_for_want_of_memory();
    std::strcpy(watched.exception, "std::bad_alloc");
  } catch (const std::exception& thrown) {
    const std::string what = printable(thrown.what(), sizeof watched.exception - 20);
    std::memcpy(watched.exception, what.c_str(), what.size() + 1);
  } catch (...) {
    std::strcpy(watched.exception, "not a std::exception");
  }
  std::abort();
}

}  // namespace

void watch_process_end(int code) {
  static const AlternateStack stack;
  watch_calls_of_this_thread();
  watched.process = ::getpid();
  watched.code = code;
  watched.stage = Stage::kAtWork;
  struct sigaction action {};
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &action, &watched.before[i]);
  }
  std::set_terminate(on_terminate);
  std::set_new_handler(on_no_memory);
}

void expect_process_end(int code) noexcept {
  watched.code = code;
  if (watched.stage == Stage::kAtWork) {
    watched.stage = Stage::kDone;
  }
}

void end_process(int code) noexcept {
  for (;;) {
    ::syscall(SYS_exit_group, code);
  }
}

std::optional<int> code_of_end(const char* function, int code) noexcept {
  if (watched.stage == Stage::kNotWatched || ::getpid() != watched.process) {
    return std::nullopt;
  }
  if (watched.stage == Stage::kAtWork) {
    SignalText cause;
    cause << function << "(" << int64_t{code} << ")";
    report(cause, true);
  }
  return watched.code;
}

void say_what_is_waited_for() noexcept {
  SignalText text;
  text << (::isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "") << "waiting for ";
  if (!describe_call(text)) {
    text << "the work at hand";
  }
  text << "; press Ctrl-C again to stop now\n";
  text.write_to(STDERR_FILENO);
}

}  // namespace quench
