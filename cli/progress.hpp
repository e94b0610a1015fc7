// Progress on stderr. For people: a line that is rewritten on a terminal, as wide as that is, ten
// times a second at most; a full line every 30 s elsewhere. For programs: one JSON object per line
// for every event.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "cli/command.hpp"
#include "cli/log_levels.hpp"
#include "cli/run_log.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

class RunEta;

class Progress {
 public:
  // Connects to the host's progress and log services; the destructor disconnects. Shows the log
  // lines that the options of `context` let through, and progress for people only if these are also
  // shown what happens (QUENCH_LOG_INFO), and --json was not given. `form`: of --progress. `log`,
  // if there is one, gets all and must outlive this, as `eta` must, which is told of training and
  // cells.
  explicit Progress(const Context& context, const std::string& form = "", RunLog* log = nullptr,
                    RunEta* eta = nullptr);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Names the current work: "step600, gptq bits=3". `done` of `total` cells of the run precede it;
  // 0 of 0 if there is no count.
  void step(const std::string& what, uint64_t done = 0, uint64_t total = 0);
  // Clears the line on a terminal, so that other output starts on an empty line.
  void clear();

 private:
  enum class Form { kText, kQuiet, kJson };
  using Clock = std::chrono::steady_clock;
  void update(const std::string& what, uint64_t done, uint64_t total);
  void log(int level, std::string_view module, std::string_view message);
  void clear_line();
  size_t columns() const;
  void write_json(const std::string& what, uint64_t done, uint64_t total) const;
  // Writes to stderr; a failure to write must not end the run.
  static void write(const std::string& text);

  std::mutex mutex_;  // plugins report from any thread
  LogLevels levels_;
  Form form_;
  RunLog* run_log_;
  RunEta* eta_;
  bool terminal_;
  bool rewrites_;  // a line that is shown, by a terminal that can
  bool line_shown_ = false;
  std::string step_;
  uint64_t cells_done_ = 0;
  uint64_t cells_total_ = 0;
  Clock::time_point start_;
  std::string work_;
  uint64_t first_done_ = 0;
  Clock::time_point work_start_;
  HostServices::LogSink sink_before_;  // takes over again at the end
  Clock::time_point last_shown_;
};

}  // namespace quench
