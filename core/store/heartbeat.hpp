// Signs of life of a running attempt, for people and for `quench status`. Never a lock: no decision
// about records depends on them, and a run that cannot write them goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace quench {

// What status-<job>-<attempt>.json says. Times are of the writer's clock and for people alone.
struct HeartbeatState {
  std::string job;
  std::string attempt;
  std::string state;  // "running", "finished", "stopped" (resumable)
  int64_t pid = 0;
  uint64_t process_start = 0;  // clock ticks since boot, as /proc has it: tells a reused pid apart
  std::string host;
  std::string boot;       // the kernel's boot id
  std::string started;    // UTC, ISO 8601
  uint64_t sequence = 0;  // grows with every write
  std::string cell;       // what is being computed
  uint64_t done = 0;      // cells, also those that were there at the start; failed ones not
  uint64_t failed = 0;
  uint64_t total = 0;
  double elapsed_seconds = 0;
  std::optional<double> rate;         // cells a second since the start, once one is computed
  std::optional<double> eta_seconds;  // from the rate
};

class Heartbeat {
 public:
  // `done`: cells that need no work. Writes at once, then every `interval` and at each cell.
  Heartbeat(std::filesystem::path folder, const std::string& job, const std::string& attempt,
            uint64_t total, uint64_t done = 0,
            std::chrono::milliseconds interval = std::chrono::seconds(10));
  // Marks the attempt as stopped where it was not finished.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // A cell begins; so many are done and failed by now. [thread-safe]
  void cell(const std::string& what, uint64_t done, uint64_t failed);
  // All cells were tried.
  void finish(uint64_t done, uint64_t failed);

 private:
  void beat(std::chrono::milliseconds interval);
  void write();
  void end(const char* state);

  std::filesystem::path path_;
  HeartbeatState state_;
  uint64_t done_before_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread thread_;
};

// Of all attempts in `folder`, in their order; what does not verify is left out.
std::vector<HeartbeatState> read_heartbeats(const std::filesystem::path& folder);

enum class Life { kRunning, kFinished, kStopped, kDead, kElsewhere };

// "running", "finished", "stopped", "dead", "on another host".
const char* life_text(Life life);

// Decides from what it sees: a process of this host by its pid; one of another host by its
// sequence, which has to grow within 60 seconds of the reader's own clock. Until then it is
// kElsewhere.
class HeartbeatWatcher {
 public:
  using Clock = std::chrono::steady_clock;
  Life judge(const HeartbeatState& state, Clock::time_point now = Clock::now());

 private:
  struct Seen {
    uint64_t sequence = 0;
    Clock::time_point since;
    bool moved = false;
  };
  std::map<std::string, Seen> seen_;  // by job and attempt
};

}  // namespace quench
