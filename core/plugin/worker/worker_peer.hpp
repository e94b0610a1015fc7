// A worker, seen from the host: its process, its channels, and what became of it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/io/descriptor.hpp"
#include "core/plugin/process/worker_process.hpp"
#include "core/plugin/wire/peer.hpp"
#include "core/plugin/worker/worker_limits.hpp"
#include "quench/abi/host.h"

namespace quench {

// The word of memory in which a worker reads that the user has asked to stop.
class CancelFlag {
 public:
  // `label`: whose process, for messages. Throws Error(RESOURCE_EXHAUSTED).
  explicit CancelFlag(const std::string& label);
  ~CancelFlag();
  CancelFlag(const CancelFlag&) = delete;
  CancelFlag& operator=(const CancelFlag&) = delete;

  // Of the page, for the worker to map.
  int descriptor() const { return file_.get(); }
  void raise() noexcept;

 private:
  Descriptor file_;
  int32_t* word_ = nullptr;
};

struct WorkerSetup {
  WorkerCommand command;
  nlohmann::json hello;     // docs/worker.md, section 1
  std::string label;        // "quantizer hqq", for messages
  const quench_host* host;  // as the module sees it
  std::function<bool()> cancelled;
  double start_seconds = 60;  // until it is ready; 0: it waits for a debugger, without a limit
  WorkerLimits limits;
  std::filesystem::path scratch = {};  // the folder that it writes into, or ""
};

// How a worker came to its end.
enum class WorkerFate {
  kAlive,
  kFault,    // its own: crash, exit, garbage, silence, too much time or memory
  kOutside,  // killed by somebody else, such as a kernel without memory
  kStopped,  // by the host, in order
};

class WorkerPeer final : public wire::Peer {
 public:
  // Starts the process and waits until it is ready. Throws Error with the reason it gives, or how
  // it ended.
  static std::shared_ptr<WorkerPeer> start(const WorkerSetup& setup);
  ~WorkerPeer() override;

  // What it said of itself: "module", "items", "libraries", "sandbox".
  const nlohmann::json& ready() const { return ready_; }
  WorkerFate fate() const { return fate_; }
  pid_t id() const { return process_.id(); }
  // Ends the process in order.
  void stop();

  wire::Channel& channel() override;
  std::unique_lock<std::recursive_mutex> turn(wire::Channel& channel) override;
  std::string name() const override { return setup_.label; }
  void distrust(const char* why) noexcept override;

 private:
  class Wait;
  struct ThreadChannel;

  explicit WorkerPeer(const WorkerSetup& setup);
  std::string wait_until_ready();
  void open_aside();
  std::unique_ptr<ThreadChannel> open_channel(int number);
  // Notes how the process ended, ending it if need be; `why` is "" where it went by itself.
  void end(const std::string& why);
  [[noreturn]] void throw_end() const;
  void watch();                          // called while a thread waits, and with each message
  bool asked_for(double seconds) const;  // whether a stop was, that long ago

  WorkerSetup setup_;
  WorkerProcess process_;
  SilenceClock silence_;
  RoomWatch room_;
  CancelFlag cancel_;
  nlohmann::json ready_;
  const uint64_t number_;  // of this worker in this process
  std::atomic<WorkerFate> fate_{WorkerFate::kAlive};
  mutable std::mutex mutex_;
  std::string end_text_;
  std::optional<std::chrono::steady_clock::time_point> stop_asked_;
  std::unique_ptr<ThreadChannel> aside_;
  std::thread aside_thread_;
};

}  // namespace quench
