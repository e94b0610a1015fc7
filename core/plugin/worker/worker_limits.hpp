// How long a worker may be silent, how long one call of it may take, and how much memory it may
// hold. Nothing here acts: who waits for a worker's reply asks, and decides.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/plugin/process/worker_process.hpp"

namespace quench {

struct WorkerLimits {
  double silence_seconds = 600;  // between two signs of life; 0: no limit
  double call_seconds = 0;       // one call in all; 0: no limit
  double probe_seconds = 10;     // one that asks whether a plugin takes something; 0: no limit
  uint64_t memory_bytes = 0;     // 0: no limit
  uint64_t scratch_bytes = uint64_t{16} << 30;  // in the folder that it writes into; 0: no limit
};

// Counts the time that a worker gives no sign of life. All that it sends is one, on whatever
// channel. While the host serves a call of the worker, time is the host's and does not count.
// [thread-safe]
class SilenceClock {
 public:
  using Clock = std::chrono::steady_clock;
  // A plugin that does nothing but log, as in a loop without an end, may do so for as many limits.
  static constexpr int kMostOfLogLines = 10;

  explicit SilenceClock(double seconds) : seconds_(seconds) {}

  // A sign of life.
  void hear(bool is_log_line, Clock::time_point now = Clock::now()) { count(is_log_line, 0, now); }
  // A call of the worker has arrived, which the host serves; nests.
  void pause(bool is_log_line, Clock::time_point now = Clock::now()) { count(is_log_line, 1, now); }
  // It is served. The worker's time begins anew.
  void resume(bool is_log_line, Clock::time_point now = Clock::now()) {
    count(is_log_line, -1, now);
  }

  // What a worker did for too long that has owed a reply since `since`: "gave no sign for 600 s";
  // "" if it did nothing of the kind.
  std::string exceeded(Clock::time_point since, Clock::time_point now = Clock::now()) const;

 private:
  void count(bool is_log_line, int pauses, Clock::time_point now);

  double seconds_;
  mutable std::mutex mutex_;
  Clock::time_point last_;         // sign of life
  Clock::time_point last_beside_;  // sign of life that was no log line
  int pauses_ = 0;
};

// Looks at a worker's memory and at the folder that it writes into, at most once a second however
// often it is asked. [thread-safe]
class RoomWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `worker` outlives the watch; `scratch`: its folder, or "".
  RoomWatch(const WorkerProcess& worker, std::filesystem::path scratch, const WorkerLimits& limits)
      : worker_(worker), scratch_(std::move(scratch)), limits_(limits) {}

  // What it was found to hold too much of: "held 986 MiB of memory, more than the 381 MiB that it
  // may"; "" until then. Asked by a second thread meanwhile, it does not wait, and says nothing.
  std::string exceeded(Clock::time_point now = Clock::now());

 private:
  std::string look() const;

  const WorkerProcess& worker_;
  const std::filesystem::path scratch_;
  const WorkerLimits limits_;
  std::mutex mutex_;
  std::optional<Clock::time_point> looked_;
  std::string found_;
};

}  // namespace quench
