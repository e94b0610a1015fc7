// Runs a program, or a copy of this one, in a child process. The object owns the process: nothing
// else signals it or waits for it, and destroying the object ends it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace quench {

// Where one descriptor of a child leads.
struct ChildStream {
  int descriptor;
  std::string path;  // the file to open, or ""
  int flags;         // flags of open(2)
  int copy_of;       // a descriptor that the child has by then, or −1

  static ChildStream file(int descriptor, const std::string& path, int flags) {
    return {descriptor, path, flags, -1};
  }
  static ChildStream copy(int descriptor, int of) { return {descriptor, "", 0, of}; }
  static ChildStream closed(int descriptor) { return {descriptor, "", 0, -1}; }
};

enum class ChildGroup {
  kInherited,  // signals of the caller's terminal reach the child
  kOwn,        // own process group: what the child starts is signalled with it and ends with it
  kSession,    // own session as well: the first terminal that the child opens controls it
};

struct Command {
  std::vector<std::string> words;  // program and arguments; PATH is searched for a name without "/"
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; nothing: the caller's
  std::filesystem::path folder;                         // working folder; "": the caller's
  std::vector<ChildStream> streams;  // opened in this order; the other descriptors are the caller's
  ChildGroup group = ChildGroup::kInherited;
  int closed_from = -1;  // after `streams`, this descriptor and all above it are closed; −1: none
  // Killed when the *thread* that starts it ends, however that happens: not only with the process.
  bool ends_with_starter = false;
  bool leaves_core =
      true;  // writes the file that a crash leaves behind, where the system wants one
};

struct ProcessEnd {
  int exit_code = 0;  // 0 if a signal ended the process
  int signal = 0;     // 0 if the process exited
  rusage usage{};

  // The code that a shell reports: the exit code, or 128 + the signal.
  int code() const { return signal == 0 ? exit_code : 128 + signal; }
};

class ChildProcess {
 public:
  // The child blocks and ignores no signals. Throws std::system_error if it cannot be started.
  static ChildProcess start(const Command& command);
  // Copies this process; only the calling thread goes on, in `body`, whose result is the exit code
  // (127 if it throws). Throws std::system_error.
  static ChildProcess start_copy(const std::function<int()>& body);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // True once the child has ended. It must still be waited for.
  bool has_ended() const;
  // The same, after waiting for that at most so long.
  bool ends_within(std::chrono::milliseconds limit) const;
  // Signals the child, or its whole group if it has its own. Does nothing after wait().
  void signal(int number) const;
  // Waits until the child ends. Call it once only.
  ProcessEnd wait();
  // Sends SIGKILL, then waits.
  ProcessEnd end();

  pid_t id() const { return id_; }  // 0 after wait()

 private:
  ChildProcess(pid_t id, bool leads_group) : id_(id), leads_group_(leads_group) {}

  pid_t id_ = 0;
  bool leads_group_ = false;
};

// Whether this process has any child at all, no matter who started it. Reaps one that has ended.
bool has_children();

}  // namespace quench
