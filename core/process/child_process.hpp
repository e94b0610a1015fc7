// A program, or a copy of this one, in a process of its own. The object owns the process: it alone
// signals it and waits for it, and destroying the object ends it.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace quench {

// What one descriptor of a child is.
struct ChildStream {
  int descriptor;
  std::string path;  // of a file to open, or ""
  int flags;         // of open(2)
  int copy_of;       // a descriptor of the child as it is by then, or −1

  static ChildStream file(int descriptor, const std::string& path, int flags) {
    return {descriptor, path, flags, -1};
  }
  static ChildStream copy(int descriptor, int of) { return {descriptor, "", 0, of}; }
  static ChildStream closed(int descriptor) { return {descriptor, "", 0, -1}; }
};

enum class ChildGroup {
  kInherited,  // signals of the caller's terminal reach it
  kOwn,        // a process group; what the child starts is signalled with it, and ends with it
  kSession,    // likewise, in a session: the first terminal that it opens controls it
};

struct Command {
  std::vector<std::string> words;  // program and arguments; a name without "/" is sought on PATH
  std::optional<std::vector<std::string>> environment;  // "NAME=value"; nothing: the caller's
  std::filesystem::path folder;                         // to work in; "": the caller's
  std::vector<ChildStream> streams;  // set in this order; the others are the caller's
  ChildGroup group = ChildGroup::kInherited;
};

struct ProcessEnd {
  int exit_code = 0;  // 0 when a signal ended it
  int signal = 0;     // 0 when it exited
  rusage usage{};

  // As a shell tells it: the exit code, or 128 + the signal.
  int code() const { return signal == 0 ? exit_code : 128 + signal; }
};

class ChildProcess {
 public:
  // The child blocks and ignores no signals. Throws std::system_error when it cannot be started.
  static ChildProcess start(const Command& command);
  // A copy of this process in which the calling thread alone goes on, with `body`: its result is
  // the exit code, 127 when it throws. Throws std::system_error.
  static ChildProcess start_copy(const std::function<int()>& body);

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  // Has it ended? It stays to be waited for.
  bool has_ended() const;
  // To the child, or to all of a group of its own. One that was waited for gets nothing.
  void signal(int number) const;
  // Until it ends. Once only.
  ProcessEnd wait();
  // The same, after SIGKILL.
  ProcessEnd end();

  pid_t id() const { return id_; }  // 0 when it was waited for

 private:
  ChildProcess(pid_t id, bool leads_group) : id_(id), leads_group_(leads_group) {}

  pid_t id_ = 0;
  bool leads_group_ = false;
};

// Has this process any child at all, whoever started it? One that has ended is taken away.
bool has_children();

}  // namespace quench
