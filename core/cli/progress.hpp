// Progress for people, on stderr: a line that is rewritten on a terminal, a full line every 30 s
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace quench {

class Progress {
 public:
  // Connects to the host's progress and log services; disconnects at the end of its life.
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Names the piece of work at hand: "step600, gptq bits=3".
  void step(const std::string& what);
  // Clears the line on a terminal, so that other output starts clean.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void update(const std::string& what, uint64_t done, uint64_t total);
  void log(int level, const std::string& line);
  void clear_line();
  // To stderr; a line that cannot be written must not end the run.
  static void write(const std::string& text);

  std::mutex mutex_;  // plugins report from any thread
  bool quiet_;
  bool terminal_;
  bool line_shown_ = false;
  std::string step_;
  std::string work_;
  uint64_t first_done_ = 0;
  Clock::time_point work_start_;
  Clock::time_point last_shown_;
};

}  // namespace quench
