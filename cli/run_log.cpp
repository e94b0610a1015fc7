#include "cli/run_log.hpp"

#include <nlohmann/json.hpp>

#include "cli/log_levels.hpp"
#include "core/base/io/utc_time.hpp"
#include "core/base/json/or_null.hpp"

namespace quench {

namespace {

constexpr size_t kMostWaiting = 1000;

std::string json_line(int level, std::string_view module, std::string_view cell,
                      std::string_view message) {
  const nlohmann::ordered_json line = {{"time", utc_now_to_milliseconds()},
                                       {"level", level_name(level)},
                                       {"plugin", or_null(module)},
                                       {"cell", or_null(cell)},
                                       {"message", message}};
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

void RunLog::open(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  file_.open(file, std::ios::app);
  for (const std::string& line : waiting_) {
    file_ << line;
  }
  file_.flush();
  waiting_.clear();
}

void RunLog::add(int level, std::string_view module, std::string_view cell,
                 std::string_view message) {
  const std::lock_guard lock(mutex_);
  last_.push_back(std::string(module) + (module.empty() ? "" : ": ") + std::string(message));
  if (last_.size() > kLastLines) {
    last_.pop_front();
  }
  if (file_.is_open()) {
    file_ << json_line(level, module, cell, message) << std::flush;
  } else if (waiting_.size() < kMostWaiting) {
    waiting_.push_back(json_line(level, module, cell, message));
  }
}

std::vector<std::string> RunLog::last_lines() const {
  const std::lock_guard lock(mutex_);
  return {last_.begin(), last_.end()};
}

}  // namespace quench
