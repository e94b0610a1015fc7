#include "core/process/child_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

extern char** environ;

namespace quench {

namespace {

[[noreturn]] void fail_with(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& text : strings) {
    out.push_back(const_cast<char*>(text.c_str()));
  }
  out.push_back(nullptr);
  return out;
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void add(const ChildStream& stream) {
    if (!stream.path.empty()) {
      constexpr mode_t kMode = 0644;
      posix_spawn_file_actions_addopen(&actions_, stream.descriptor, stream.path.c_str(),
                                       stream.flags, kMode);
    } else if (stream.copy_of >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, stream.copy_of, stream.descriptor);
    } else {
      posix_spawn_file_actions_addclose(&actions_, stream.descriptor);
    }
  }
  void change_folder(const std::filesystem::path& folder) {
    posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class Attributes {
 public:
  explicit Attributes(ChildGroup group) {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    const int of_group = group == ChildGroup::kOwn       ? POSIX_SPAWN_SETPGROUP
                         : group == ChildGroup::kSession ? POSIX_SPAWN_SETSID
                                                         : 0;
    posix_spawnattr_setflags(&attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK |
                                                              POSIX_SPAWN_SETSIGDEF | of_group));
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

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
  FileActions actions;
  for (const ChildStream& stream : command.streams) {
    actions.add(stream);
  }
  if (!command.folder.empty()) {
    actions.change_folder(command.folder);
  }
  const Attributes attributes(command.group);
  std::vector<char*> variables;
  if (command.environment) {
    variables = pointers(*command.environment);
  }
  pid_t id = 0;
  const int error = posix_spawnp(&id, command.words.at(0).c_str(), actions.get(), attributes.get(),
                                 pointers(command.words).data(),
                                 command.environment ? variables.data() : environ);
  if (error != 0) {
    fail_with(error, command.words[0]);
  }
  return {id, command.group != ChildGroup::kInherited};
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

void ChildProcess::signal(int number) const {
  if (id_ > 0) {
    ::kill(leads_group_ ? -id_ : id_, number);
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
