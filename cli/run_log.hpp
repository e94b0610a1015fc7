// Every log line of an attempt at a run, in a file beside its records: one JSON object per line,
// {"time", "level", "plugin", "cell", "message"}. What the terminal shows is chosen elsewhere.
#pragma once

#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quench {

class RunLog {
 public:
  static constexpr size_t kLastLines = 50;

  // What was added so far goes to the file, too. A file that cannot be written loses the lines, not
  // the run.
  void open(const std::filesystem::path& file);
  // `level`: QUENCH_LOG_*; `module`: "" for the host; `cell`: what is at work, or "". [thread-safe]
  void add(int level, std::string_view module, std::string_view cell, std::string_view message);
  // "gptq: a message", oldest first, for the record of a cell that failed. [thread-safe]
  std::vector<std::string> last_lines() const;

 private:
  mutable std::mutex mutex_;
  std::ofstream file_;
  std::vector<std::string> waiting_;  // lines until the file is open
  std::deque<std::string> last_;
};

}  // namespace quench
