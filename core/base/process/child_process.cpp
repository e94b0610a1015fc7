#include "core/base/process/child_process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/process/spawn.hpp"

namespace quench {

namespace {

[[noreturn]] void fail_with(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

constexpr std::chrono::milliseconds kLongestPoll{1000};

// A process may inherit an ignored SIGCHLD. The kernel then reaps ended children by itself, and a
// process id that this process still holds may already belong to another process.
void keep_ended_children() {
  struct sigaction action {};
  if (sigaction(SIGCHLD, nullptr, &action) == 0 &&
      (action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0)) {
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, nullptr);
  }
}

// Blocks until the child can be reaped; returns false if it is no child of this process.
bool wait_without_taking(pid_t id) {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

ChildProcess ChildProcess::start(const Command& command) {
  keep_ended_children();
  return {spawn(command), command.group != ChildGroup::kInherited};
}

ChildProcess ChildProcess::start_copy(const std::function<int()>& body) {
  keep_ended_children();
  const pid_t id = ::fork();
  if (id < 0) {
    fail_with(errno, "copying this process");
  }
  if (id == 0) {
    constexpr int kThrown = 127;
    int code = kThrown;
    try {
      code = body();
    } catch (...) {  // the parent sees nothing but the exit code
    }
    ::_exit(code);
  }
  return {id, false};
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, 0)), leads_group_(other.leads_group_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(id_, other.id_);
  std::swap(leads_group_, other.leads_group_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (id_ > 0) {
    try {
      end();
    } catch (const std::system_error&) {  // it is no longer a child: nothing is left to end
    }
  }
}

bool ChildProcess::has_ended() const {
  siginfo_t info{};
  return id_ <= 0 ||
         waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid != 0;
}

bool ChildProcess::ends_within(std::chrono::milliseconds limit) const {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  // The kernel wakes a poll of this descriptor when the child ends. Without it, look again.
  const int ended = id_ > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, id_, 0)) : -1;
  while (!has_ended()) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      break;
    }
    if (ended >= 0) {
      pollfd one{ended, POLLIN, 0};
      ::poll(&one, 1, static_cast<int>(std::min(left, kLongestPoll).count()));
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  if (ended >= 0) {
    ::close(ended);
  }
  return has_ended();
}

void ChildProcess::signal(int number) const {
  if (id_ <= 0) {
    return;
  }
  const bool reached = ::kill(leads_group_ ? -id_ : id_, number) == 0;
  // A leader may have moved to another group, and must end all the same.
  if (leads_group_ && (!reached || number == SIGKILL)) {
    ::kill(id_, number);
  }
}

ProcessEnd ChildProcess::wait() {
  if (id_ <= 0) {
    fail_with(ECHILD, "waiting for a process");
  }
  // As long as the child has not been reaped, no other process can get its group's id.
  if (leads_group_ && wait_without_taking(id_)) {
    signal(SIGKILL);
  }
  const pid_t id = std::exchange(id_, 0);
  ProcessEnd out;
  int status = 0;
  while (wait4(id, &status, 0, &out.usage) < 0) {
    if (errno != EINTR) {
      fail_with(errno, "waiting for a process");
    }
  }
  if (WIFSIGNALED(status)) {
    out.signal = WTERMSIG(status);
  } else {
    out.exit_code = WEXITSTATUS(status);
  }
  return out;
}

ProcessEnd ChildProcess::end() {
  signal(SIGKILL);
  return wait();
}

bool has_children() {
  return waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD;
}

}  // namespace quench
