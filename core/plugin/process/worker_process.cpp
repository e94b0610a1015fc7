#include "core/plugin/process/worker_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/process/control_socket.hpp"

namespace quench {

namespace {

constexpr int kControl = 3;        // the worker's number for its end of the control socket
constexpr int kAboveStreams = 10;  // descriptors from here on are no streams of the worker

Descriptor checked(int number) {
  if (number < 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "worker: no descriptor is left: {}", std::strerror(errno));
  }
  return Descriptor(number);
}

struct OutputPipe {
  Descriptor read;
  Descriptor write;
};

OutputPipe make_output_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "worker: no pipe for what it prints: {}", std::strerror(errno));
  }
  const Descriptor read(ends[0]);
  const Descriptor write(ends[1]);
  OutputPipe out;
  out.read = checked(fcntl(read.get(), F_DUPFD_CLOEXEC, kAboveStreams));
  out.write = checked(fcntl(write.get(), F_DUPFD_CLOEXEC, kAboveStreams));
  fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  return out;
}

Command command_of(const WorkerCommand& worker, int control, int output) {
  Command command;
  command.words = worker.words;
  command.environment = worker.environment;
  command.folder = worker.folder;
  command.streams = {ChildStream::file(STDIN_FILENO, "/dev/null", O_RDONLY),
                     ChildStream::copy(STDOUT_FILENO, output),
                     ChildStream::copy(STDERR_FILENO, output),
                     ChildStream::copy(kControl, control)};
  command.group = ChildGroup::kOwn;
  command.closed_from = kControl + 1;
  command.ends_with_starter = true;
  command.leaves_core = false;
  return command;
}

bool comes_from_outside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGHUP || signal == SIGINT;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

std::string what_happened(const WorkerEnd& end) {
  if (end.killed_by_host) {
    return "was killed by the host";
  }
  if (end.killed_from_outside) {
    return end.signal == SIGKILL
               ? "was killed from outside (SIGKILL: the system ran out of memory, or somebody "
                 "ended it)"
               : fmt::format("was killed from outside ({}: somebody ended it)",
                             signal_name(end.signal));
  }
  if (end.signal != 0) {
    const char* described = sigdescr_np(end.signal);
    return described == nullptr ? fmt::format("was ended by signal {}", end.signal)
                                : fmt::format("was ended by signal {} ({})", end.signal, described);
  }
  return fmt::format("exited with code {}", end.exit_code);
}

}  // namespace

std::string WorkerEnd::text() const {
  const std::string words = on_one_line(last_words);
  return what_happened(*this) + (words.empty() ? "" : "; its last words: " + words);
}

WorkerProcess::WorkerProcess(const WorkerCommand& command)
    : wake_(checked(eventfd(0, EFD_CLOEXEC))), on_line_(command.on_line) {
  ControlSockets sockets = make_control_sockets();
  OutputPipe output = make_output_pipe();
  std::promise<ChildProcess> promise;
  std::future<ChildProcess> started = promise.get_future();
  try {
    output_thread_ = std::thread(&WorkerProcess::own_output, this,
                                 command_of(command, sockets.worker.get(), output.write.get()),
                                 std::move(output.read), std::move(promise));
    process_ = started.get();
  } catch (const std::exception& failure) {
    if (output_thread_.joinable()) {
      output_thread_.join();
    }
    if (const auto* refused = dynamic_cast<const std::system_error*>(&failure)) {
      fail(QUENCH_FAILED_PRECONDITION, "worker: {} cannot be started in {}: {}",
           printable(command.words.at(0), 4096), printable(command.folder.string(), 4096),
           refused->code().message());
    }
    throw;  // no memory
  }
  id_ = process_->id();
  control_ = std::move(sockets.host);
}

WorkerProcess::~WorkerProcess() {
  kill_now();
  end();
}

// A worker that is to end with its starter ends with this thread, so it starts here, where nothing
// can be done before it.
void WorkerProcess::own_output(const Command& command, Descriptor output,
                               std::promise<ChildProcess> started) {
  try {
    started.set_value(ChildProcess::start(command));
  } catch (...) {
    started.set_exception(std::current_exception());
    return;
  }
  std::array<pollfd, 2> both{pollfd{wake_.get(), POLLIN, 0}, pollfd{output.get(), POLLIN, 0}};
  while (both[0].revents == 0) {
    if (poll(both.data(), both.size(), -1) > 0 && both[1].revents != 0 &&
        !read_output(output.get())) {
      both[1].fd = -1;  // the worker has closed it, and may go on without
    }
  }
  read_output(output.get());
  try {
    log_lines("\n");                 // what has no end of its own
  } catch (const std::bad_alloc&) {  // as in read_output
  }
}

// Reads what there is, a bounded part of it at a time; false at the end.
bool WorkerProcess::read_output(int output) {
  constexpr int kParts = 64;
  std::array<char, 16384> buffer;
  for (int part = 0; part < kParts; ++part) {
    const ssize_t got = ::read(output, buffer.data(), buffer.size());
    if (got <= 0) {
      return got < 0 && (errno == EAGAIN || errno == EINTR);
    }
    const std::string_view printed(buffer.data(), static_cast<size_t>(got));
    try {
      log_lines(printed);
      const std::lock_guard lock(output_mutex_);
      output_.add(printed);
    } catch (const std::bad_alloc&) {  // its lines are lost, the worker goes on
    }
  }
  return true;
}

void WorkerProcess::log_lines(std::string_view printed) {
  constexpr size_t kLongest = 4096;
  while (on_line_ && logged_ < kMostLogged && !printed.empty()) {
    const size_t end = printed.find('\n');
    begun_.append(printed.substr(0, std::min(end, kLongest)));
    if (end == std::string_view::npos && begun_.size() < kLongest) {
      return;
    }
    printed.remove_prefix(end == std::string_view::npos ? printed.size() : end + 1);
    if (!begun_.empty()) {
      on_line_(begun_);
      ++logged_;
    }
    begun_.clear();
  }
}

bool WorkerProcess::has_ended() const {
  const std::lock_guard lock(mutex_);
  return end_ || process_->has_ended();
}

void WorkerProcess::kill_now() {
  const std::lock_guard lock(mutex_);
  if (!end_ && !process_->has_ended()) {
    killed_ = true;
    process_->signal(SIGKILL);
  }
}

WorkerEnd WorkerProcess::end() {
  constexpr std::chrono::milliseconds kPatience{1000};
  const std::lock_guard lock(mutex_);
  if (end_) {
    return *end_;
  }
  if (!process_->ends_within(kPatience)) {
    killed_ = true;
    process_->signal(SIGKILL);
  }
  const ProcessEnd ended = process_->wait();
  const uint64_t one = 1;
  while (::write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  output_thread_.join();
  WorkerEnd& out = end_.emplace();
  out.exit_code = ended.exit_code;
  out.signal = ended.signal;
  out.killed_by_host = killed_ && ended.signal == SIGKILL;
  out.killed_from_outside = !out.killed_by_host && comes_from_outside(ended.signal);
  out.last_words = last_words();
  return out;
}

std::optional<uint64_t> WorkerProcess::memory() const {
  const std::lock_guard lock(mutex_);
  if (end_) {
    return std::nullopt;
  }
  // Its number is its own until it has been waited for, which takes the lock.
  std::ifstream totals(fmt::format("/proc/{}/smaps_rollup", id_));
  std::optional<uint64_t> out;
  for (std::string word; totals >> word;) {
    uint64_t kibibytes = 0;
    if ((word == "Pss:" || word == "SwapPss:") && totals >> kibibytes) {
      out = out.value_or(0) + (kibibytes << 10);
    }
  }
  return out;
}

std::string WorkerProcess::last_words() const {
  const std::lock_guard lock(output_mutex_);
  return output_.text();
}

}  // namespace quench
