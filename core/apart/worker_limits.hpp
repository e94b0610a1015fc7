// How long a worker may be silent, and how much memory it may hold. Nothing here acts: who waits
// for a worker's reply asks, and decides.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "core/apart/worker_process.hpp"

namespace quench {

struct WorkerLimits {
  double silence_seconds = 600;  // between two signs of life; 0: no limit
  uint64_t memory_bytes = 0;     // 0: no limit
};

// Counts the time that a worker owes an answer. While the host itself serves a call of the worker,
// time is the host's and does not count. For one thread.
class SilenceClock {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SilenceClock(double seconds, Clock::time_point now = Clock::now())
      : seconds_(seconds), since_(now) {}

  // The host's turn begins; nests.
  void pause() { ++pauses_; }
  // It is over. The worker's time begins anew: its call was a sign of life.
  void resume(Clock::time_point now = Clock::now());
  // A sign of life.
  void restart(Clock::time_point now = Clock::now()) { since_ = now; }

  bool exceeded(Clock::time_point now = Clock::now()) const;
  // Milliseconds until it is exceeded, at most `longest`: how long to wait before asking again.
  int milliseconds_left(int longest, Clock::time_point now = Clock::now()) const;

 private:
  std::optional<double> seconds_left(Clock::time_point now) const;  // nothing: no limit now

  double seconds_;
  Clock::time_point since_;
  int pauses_ = 0;
};

// Looks at a worker's memory, at most once a second however often it is asked. [thread-safe]
class MemoryWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `worker` outlives the watch.
  MemoryWatch(const WorkerProcess& worker, uint64_t limit_bytes)
      : worker_(worker), limit_bytes_(limit_bytes) {}

  // The bytes that it held when it was found to hold more than the limit; nothing until then. Asked
  // by a second thread meanwhile, it does not wait, and says nothing.
  std::optional<uint64_t> exceeded(Clock::time_point now = Clock::now());

 private:
  const WorkerProcess& worker_;
  uint64_t limit_bytes_;
  std::mutex mutex_;
  std::optional<Clock::time_point> looked_;
  std::optional<uint64_t> found_;
};

}  // namespace quench
