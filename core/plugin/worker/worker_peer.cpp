#include "core/plugin/worker/worker_peer.hpp"

#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/plugin_call.hpp"
#include "core/plugin/process/control_socket.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/wire/services.hpp"

namespace quench {

namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

CancelFlag::CancelFlag(const std::string& label)
    : file_(memfd_create("quench flags", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  void* page = MAP_FAILED;
  if (file_ && ftruncate(file_.get(), kPageBytes) == 0) {
    page = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  }
  if (page == MAP_FAILED) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: no shared memory for its process: {}", label,
         std::strerror(errno));
  }
  word_ = static_cast<int32_t*>(page);
}

CancelFlag::~CancelFlag() {
  munmap(word_, kPageBytes);
}

void CancelFlag::raise() noexcept {
  __atomic_store_n(word_, 1, __ATOMIC_RELAXED);
}

namespace {

using Clock = std::chrono::steady_clock;

// How long a plugin may go on after the user has asked to stop.
constexpr double kGraceSeconds = 10;

std::atomic<uint64_t> workers{0};

double seconds_since(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

bool is_log_line(const wire::Header& call) {
  return call.target == 0 && call.function < wire::kServices.functions &&
         std::strcmp(wire::kServices.names[call.function], "write") == 0;
}

// The function of the innermost call of this thread, "quantize", or "".
std::string function_at_work() {
  return innermost_call != nullptr && innermost_call->function != nullptr ? innermost_call->function
                                                                          : "";
}

}  // namespace

// Waiting for the worker: it may end, be silent for too long, or take too much memory.
class WorkerPeer::Wait final : public wire::Patience {
 public:
  explicit Wait(WorkerPeer& worker) : worker_(worker) {}

  void before_call() override {
    if (worker_.setup_.cancelled && worker_.setup_.cancelled()) {
      worker_.cancel_.raise();  // what is called after the request sees it at once
    }
  }
  void begin() override {
    since_ = Clock::now();
    if (open_++ == 0) {
      began_ = since_;
    }
  }
  void end() override {
    --open_;
    worker_.silence_.hear(false);
  }
  void pause(const wire::Header& call) override {
    const bool is_log = is_log_line(call);
    worker_.silence_.hear(is_log);
    wait();  // a worker that calls without end leaves no time to wait
    worker_.silence_.pause(is_log);
  }
  void resume(const wire::Header& call) override { worker_.silence_.resume(is_log_line(call)); }
  void sign() override {
    worker_.silence_.hear(false);
    wait();
  }
  void wait() override {
    worker_.watch();
    if (open_ > 0) {
      end_what_takes_too_long();
    }
    if (worker_.fate() != WorkerFate::kAlive) {
      worker_.throw_end();
    }
  }
  void broken(const char* why) override {
    const bool closed = std::strcmp(why, "the connection is closed") == 0;
    worker_.end(closed ? "" : fmt::format("sent what cannot be ({}) and was ended", why));
    worker_.throw_end();
  }

 private:
  void end_what_takes_too_long() {
    if (const std::string silent = worker_.silence_.exceeded(since_); !silent.empty()) {
      worker_.end(silent + " and was ended");
    }
    const WorkerLimits& limits = worker_.setup_.limits;
    double most = limits.call_seconds;
    if (limits.probe_seconds > 0 && function_at_work() == "probe") {
      most = most > 0 ? std::min(most, limits.probe_seconds) : limits.probe_seconds;
    }
    if (most > 0 && seconds_since(began_) > most) {
      worker_.end(fmt::format("took more than the {:g} s that one call may and was ended", most));
    }
  }

  WorkerPeer& worker_;
  int open_ = 0;             // calls of the worker without a reply, each within the one before
  Clock::time_point began_;  // the outermost of them
  Clock::time_point since_;  // the innermost
};

struct WorkerPeer::ThreadChannel {
  ThreadChannel(WorkerPeer& worker, Descriptor socket, std::unique_ptr<wire::OwnMemory> own,
                Descriptor theirs)
      : wait(worker),
        channel(
            std::move(socket), std::move(own), std::move(theirs),
            [&worker](wire::Channel& over, const wire::Header& header, wire::Reader& in,
                      wire::Writer& out) {
              const wire::ServedHost serving(worker.setup_.host);
              worker.serve(over, header, in, out);
            },
            wait) {}

  Wait wait;
  wire::Channel channel;
};

std::shared_ptr<WorkerPeer> WorkerPeer::start(const WorkerSetup& setup) {
  std::shared_ptr<WorkerPeer> worker(new WorkerPeer(setup));
  worker->open_aside();
  return worker;
}

WorkerPeer::WorkerPeer(const WorkerSetup& setup)
    : setup_(setup),
      process_(setup.command),
      silence_(setup.limits.silence_seconds),
      room_(process_, setup.scratch, setup.limits),
      cancel_(setup.label),
      number_(++workers) {
  const int flags[] = {cancel_.descriptor()};
  send_packet(process_.control(), nlohmann::json{{"hello", setup_.hello}}.dump(), flags);
  ready_ = parse_json(wait_until_ready(), setup_.label + ": its process");
  if (const auto failed = ready_.find("failed"); failed != ready_.end()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}",
         failed->is_string() ? printable(failed->get<std::string>(), 1000) : "it failed to start");
  }
  const auto ready = ready_.find("ready");
  if (ready == ready_.end() || !ready->is_object()) {
    fail(QUENCH_DATA_LOSS, "{}: its process did not say that it is ready", setup_.label);
  }
  ready_ = nlohmann::json(*ready);
}

// What it says when it is ready.
std::string WorkerPeer::wait_until_ready() {
  const Clock::time_point began = Clock::now();
  if (setup_.start_seconds == 0) {
    HostServices::instance().log(
        QUENCH_LOG_WARNING, "",
        fmt::format("{}: process {} waits for a debugger: gdb -p {}, then continue", setup_.label,
                    process_.id(), process_.id()));
  }
  while (true) {
    try {
      const std::optional<Packet> packet = receive_packet(process_.control(), 100);
      if (!packet) {
        end("");
        throw_end();
      }
      return packet->text;
    } catch (const Error& failure) {
      if (failure.code() != QUENCH_UNAVAILABLE) {
        throw;
      }
    }
    watch();
    if (fate_ == WorkerFate::kAlive && setup_.start_seconds > 0 &&
        seconds_since(began) > setup_.start_seconds) {
      end(fmt::format("was not ready after {:.0f} s", setup_.start_seconds));
    }
    if (fate_ != WorkerFate::kAlive) {
      throw_end();
    }
  }
}

WorkerPeer::~WorkerPeer() {
  stop();
}

void WorkerPeer::stop() {
  if (fate_ == WorkerFate::kAlive) {
    fate_ = WorkerFate::kStopped;
    process_.kill_now();
  }
  if (aside_thread_.joinable()) {
    aside_thread_.join();
  }
}

std::unique_ptr<WorkerPeer::ThreadChannel> WorkerPeer::open_channel(int number) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: no socket to its process: {}", setup_.label,
         std::strerror(errno));
  }
  Descriptor ours(pair[0]);
  const Descriptor worker(pair[1]);
  auto own = std::make_unique<wire::OwnMemory>(true);
  const wire::OwnMemory room(false);
  const int given[] = {worker.get(), own->descriptor(), room.descriptor()};
  send_packet(process_.control(), nlohmann::json{{"channel", number}}.dump(), given);
  return std::make_unique<ThreadChannel>(*this, std::move(ours), std::move(own),
                                         Descriptor(dup(room.descriptor())));
}

void WorkerPeer::open_aside() {
  aside_ = open_channel(2);
  aside_thread_ = std::thread([this] {
    try {
      aside_->channel.serve_all();
    } catch (const std::exception&) {
      return;  // the worker has ended, and its callers say so
    }
  });
}

wire::Channel& WorkerPeer::channel() {
  struct Entry {
    std::weak_ptr<Peer> worker;
    std::unique_ptr<ThreadChannel> channel;
  };
  thread_local std::map<uint64_t, Entry> channels;
  if (fate_ != WorkerFate::kAlive) {
    throw_end();
  }
  const auto found = channels.find(number_);
  if (found != channels.end()) {
    return found->second.channel->channel;
  }
  std::erase_if(channels, [](const auto& entry) { return entry.second.worker.expired(); });
  return channels.emplace(number_, Entry{weak_from_this(), open_channel(1)})
      .first->second.channel->channel;
}

std::unique_lock<std::recursive_mutex> WorkerPeer::turn(wire::Channel&) {
  return {};  // each thread of the host has a channel of its own
}

void WorkerPeer::distrust(const char* why) noexcept {
  try {
    end(fmt::format("sent what cannot be ({}) and was ended", why));
  } catch (...) {
    fate_ = WorkerFate::kFault;
  }
}

void WorkerPeer::watch() {
  if (setup_.cancelled && setup_.cancelled()) {
    cancel_.raise();
    const std::lock_guard lock(mutex_);
    if (!stop_asked_) {
      stop_asked_ = Clock::now();
    }
  }
  if (asked_for(kGraceSeconds)) {
    end(fmt::format("did not stop within {:.0f} s of being asked to, and was ended",
                    kGraceSeconds));
  }
  if (const std::string held = room_.exceeded(); !held.empty()) {
    end(held + ", and was ended");
  }
}

bool WorkerPeer::asked_for(double seconds) const {
  const std::lock_guard lock(mutex_);
  return stop_asked_ && seconds_since(*stop_asked_) > seconds;
}

void WorkerPeer::end(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (fate_ != WorkerFate::kAlive) {
    return;
  }
  if (!why.empty()) {
    process_.kill_now();
  }
  const WorkerEnd ended = process_.end();
  const std::string function = function_at_work();
  const std::string words = ended.last_words.empty() ? "" : "; its last words: " + ended.last_words;
  const std::string how = why.empty() ? ended.text() : why + words;
  end_text_ =
      fmt::format("its process{} {}", function.empty() ? "" : ", in " + function + ",", how);
  fate_ = why.empty() && ended.killed_from_outside ? WorkerFate::kOutside : WorkerFate::kFault;
}

void WorkerPeer::throw_end() const {
  const std::lock_guard lock(mutex_);
  fail(fate_ == WorkerFate::kOutside ? QUENCH_UNAVAILABLE : QUENCH_INTERNAL, "{}",
       end_text_.empty() ? "its process has ended" : end_text_);
}

}  // namespace quench
