// Shows people, `quench status` and other processes of the run (claims.hpp) that an attempt is
// alive. Never a lock: which records count does not depend on it, and a run that cannot write it
// goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/io/lease.hpp"

namespace quench {

// Content of status-<job>-<attempt>.json. Times come from the writer's clock, for people only.
struct HeartbeatState {
  std::string job;
  std::string attempt;
  std::string state;  // "running", "finished", "stopped" (resumable)
  ProcessIdentity process;
  std::string host;
  std::string started;    // UTC, ISO 8601
  uint64_t sequence = 0;  // grows with every write
  std::string cell;       // the cell being computed
  uint64_t done = 0;      // cells without failures, including those done before the start
  uint64_t failed = 0;
  uint64_t total = 0;
  double elapsed_seconds = 0;
  std::optional<double> rate;         // cells per second since the start, once one is computed
  std::optional<double> eta_seconds;  // of the whole run; once it is known
};

class Heartbeat {
 public:
  // `done`: cells that need no work. Writes at once, then every `interval` and at each cell.
  Heartbeat(const std::filesystem::path& folder, const std::string& job, const std::string& attempt,
            uint64_t total, uint64_t done = 0,
            std::chrono::milliseconds interval = std::chrono::seconds(10));
  // Marks the attempt as stopped unless it has finished.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // A cell begins; `done` and `failed` count the cells before it. [thread-safe]
  void cell(const std::string& what, uint64_t done, uint64_t failed);
  // Who knows the seconds left better than the rate of cells does: asked at every write.
  void estimate_by(std::function<std::optional<double>()> left);
  // All cells have been tried.
  void finish(uint64_t done, uint64_t failed);

 private:
  void write();
  void end(const char* state);

  std::filesystem::path path_;
  HeartbeatState state_;
  uint64_t done_before_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::function<std::optional<double>()> left_;
  std::optional<Beat> beat_;  // nothing once it has ended
};

// The heartbeats of all attempts in `folder`, in order; skips those that do not verify.
std::vector<HeartbeatState> read_heartbeats(const std::filesystem::path& folder);

// That of one attempt; nothing if there is none that verifies.
std::optional<HeartbeatState> read_heartbeat(const std::filesystem::path& folder,
                                             const std::string& job, const std::string& attempt);

enum class Pulse { kRunning, kFinished, kStopped, kDead, kElsewhere };

// "running", "finished", "stopped", "dead", "on another host".
const char* liveness_text(Pulse life);

// Decides by evidence: a process of this host by its identity; one of another host by its sequence
// number, which must grow within 60 seconds of the reader's own clock. Until then it is
// kElsewhere.
class HeartbeatWatcher {
 public:
  using Clock = LifeWatch::Clock;
  Pulse liveness(const HeartbeatState& state, Clock::time_point now = Clock::now());

 private:
  LifeWatch watch_;
};

}  // namespace quench
