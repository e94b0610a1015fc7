// One worker: a process of its own that holds a plugin. This owns the process, its control socket
// and what it prints; what is said on the socket is for others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/io/descriptor.hpp"
#include "core/base/process/child_process.hpp"
#include "core/plugin/process/output_tail.hpp"

namespace quench {

struct WorkerCommand {
  std::vector<std::string> words;        // program and arguments
  std::vector<std::string> environment;  // "NAME=value", all that the worker gets
  std::filesystem::path folder;          // working folder, the worker's own
  // Called with each line it prints, of the first kMostLogged, on a thread of its own; may be
  // empty.
  std::function<void(std::string_view line)> on_line = {};
};

// How a worker ended.
struct WorkerEnd {
  int exit_code = 0;  // 0 if a signal ended it
  int signal = 0;     // 0 if it exited
  // By a signal that this process did not send and no fault in the worker causes: the system was
  // out of memory, or a person ended it.
  bool killed_from_outside = false;
  bool killed_by_host = false;
  std::string last_words;  // the last lines it printed

  // "was ended by signal 11 (Segmentation fault); its last words: ...", on one line.
  std::string text() const;
};

class WorkerProcess {
 public:
  static constexpr size_t kMostLogged = 10000;

  // Starts it: descriptor 3 is its end of the control socket, standard input is empty, standard
  // output and error are kept for last_words(), nothing else is open. It has a process group of its
  // own, so that Ctrl-C at the terminal is the host's alone; it leaves no core, and ends with the
  // host, however that ends. Throws Error: FAILED_PRECONDITION if it cannot be started,
  // RESOURCE_EXHAUSTED.
  explicit WorkerProcess(const WorkerCommand& command);
  ~WorkerProcess();  // ends it at once
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // The host's end of the control socket. Whoever closes it early tells the worker to end.
  int control() const { return control_.get(); }
  void close_control() { control_.reset(); }
  pid_t id() const { return id_; }

  bool has_ended() const;  // [thread-safe]
  // How it ended. A worker that still runs gets a second to end by itself and is then killed. Later
  // calls give the same. [thread-safe]
  WorkerEnd end();
  // Kills it; end() then says so. Does nothing to one that has ended. [thread-safe]
  void kill_now();
  // Bytes of memory that it holds, in swap too, a share of what it shares with others; nothing
  // where the system does not say, or it has ended. Takes the kernel milliseconds per GiB.
  // [thread-safe]
  std::optional<uint64_t> memory() const;
  // The last lines that it has printed so far. [thread-safe]
  std::string last_words() const;

 private:
  // Body of output_thread_: starts the process, which ends with this thread, and reads what it
  // prints until wake_ is written to.
  void own_output(const Command& command, Descriptor output, std::promise<ChildProcess> started);
  bool read_output(int output);
  void log_lines(std::string_view printed);

  Descriptor control_;
  Descriptor wake_;
  std::function<void(std::string_view)> on_line_;  // for output_thread_ alone, as the next two
  std::string begun_;                              // a line without its end
  size_t logged_ = 0;
  pid_t id_ = 0;
  std::thread output_thread_;

  mutable std::mutex output_mutex_;
  OutputTail output_;

  mutable std::mutex mutex_;  // of all below; never taken while output_mutex_ is held
  std::optional<ChildProcess> process_;
  std::optional<WorkerEnd> end_;
  bool killed_ = false;
};

}  // namespace quench
