#include "core/base/process/spawn.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/process/child_process.hpp"

extern char** environ;

namespace quench {

namespace {

// All that the child needs, made before it is: it runs in the starter's memory, beside the
// starter's other threads, and may allocate nothing and take no lock.
struct Launch {
  const char* program;
  char* const* words;
  char* const* environment;
  const char* folder;  // or NULL
  const ChildStream* streams;
  size_t stream_count;
  const Command* command;
  pid_t starter;
  int error;  // why the child could not become the program
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& text : strings) {
    out.push_back(const_cast<char*>(text.c_str()));
  }
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void fail_to_start(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

// The file that a name without "/" means on the caller's PATH. The kernel alone would look for it
// in the working folder.
std::string program_of(const std::string& word) {
  const char* path = std::getenv("PATH");
  if (word.find('/') != std::string::npos) {
    return word;
  }
  const std::string folders = path == nullptr ? "/bin:/usr/bin" : path;
  for (size_t from = 0; from <= folders.size();) {
    const size_t end = std::min(folders.find(':', from), folders.size());
    const std::string folder = folders.substr(from, end - from);
    std::string file = (folder.empty() ? "." : folder) + "/" + word;
    if (::access(file.c_str(), X_OK) == 0) {
      return file;
    }
    from = end + 1;
  }
  fail_to_start(ENOENT, word);
}

bool lead_stream(const ChildStream& stream) {
  if (!stream.path.empty()) {
    constexpr mode_t kMode = 0644;
    const int opened = ::open(stream.path.c_str(), stream.flags, kMode);
    if (opened < 0 || opened == stream.descriptor) {
      return opened >= 0;
    }
    const bool moved = ::dup2(opened, stream.descriptor) >= 0;
    ::close(opened);
    return moved;
  }
  if (stream.copy_of < 0) {
    ::close(stream.descriptor);
    return true;
  }
  if (stream.copy_of == stream.descriptor) {  // dup2 would leave it closed on exec
    return ::fcntl(stream.descriptor, F_SETFD, 0) == 0;
  }
  return ::dup2(stream.copy_of, stream.descriptor) >= 0;
}

bool set_group(ChildGroup group) {
  return group == ChildGroup::kInherited ||
         (group == ChildGroup::kOwn ? ::setpgid(0, 0) == 0 : ::setsid() >= 0);
}

bool tie_to_starter(const Launch& launch) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    return false;
  }
  errno = ESRCH;
  return ::getppid() == launch.starter;  // it may have ended before the call
}

bool prepare(const Launch& launch) {
  const Command& command = *launch.command;
  const rlimit none{0, 0};
  if (!set_group(command.group) || (command.ends_with_starter && !tie_to_starter(launch)) ||
      (!command.leaves_core && ::setrlimit(RLIMIT_CORE, &none) != 0)) {
    return false;
  }
  for (size_t i = 0; i < launch.stream_count; ++i) {
    if (!lead_stream(launch.streams[i])) {
      return false;
    }
  }
  if (command.closed_from >= 0) {
    ::closefrom(command.closed_from);
  }
  return launch.folder == nullptr || ::chdir(launch.folder) == 0;
}

// The child. No function of its own returns to the starter's frames, and AddressSanitizer, which
// knows nothing of its stack, stays out of it.
__attribute__((no_sanitize("address"))) int become(void* argument) {
  Launch& launch = *static_cast<Launch*>(argument);
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) {  // the child's own table of handlers
    ::sigaction(number, &standard, nullptr);
  }
  if (prepare(launch)) {
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(launch.program, launch.words, launch.environment);
  }
  launch.error = errno;
  constexpr int kNotStarted = 127;
  ::_exit(kNotStarted);
}

// Copies this process without its memory; the calling thread goes on when the child has become the
// program or is gone. No handler of this process may run in the child meanwhile.
pid_t start(Launch& launch) {
  constexpr size_t kStack = size_t{64} << 10;
  constexpr size_t kAligned = 64;
  const std::unique_ptr<std::byte[]> stack(new std::byte[kStack]);
  std::byte* top = stack.get() + kStack;
  void* start_of_stack = top - reinterpret_cast<uintptr_t>(top) % kAligned;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t id = ::clone(become, start_of_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (id < 0) {
    launch.error = error;
  }
  return id;
}

}  // namespace

pid_t spawn(const Command& command) {
  const std::string program = program_of(command.words.at(0));
  const std::vector<char*> words = pointers(command.words);
  std::vector<char*> variables;
  if (command.environment) {
    variables = pointers(*command.environment);
  }
  Launch launch{program.c_str(),
                words.data(),
                command.environment ? variables.data() : environ,
                command.folder.empty() ? nullptr : command.folder.c_str(),
                command.streams.data(),
                command.streams.size(),
                &command,
                ::getpid(),
                0};
  const pid_t id = start(launch);
  if (launch.error != 0) {
    while (id > 0 && ::waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
    }
    fail_to_start(launch.error, command.words[0]);
  }
  return id;
}

}  // namespace quench
