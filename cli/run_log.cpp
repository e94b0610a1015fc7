#include "cli/run_log.hpp"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/log_levels.hpp"
#include "quench/abi/host.h"

namespace quench {

namespace {

constexpr size_t kMostWaiting = 1000;

}  // namespace

RunLog::RunLog() = default;

RunLog::~RunLog() = default;

void RunLog::open(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(file.string());
    file_ = std::make_shared<spdlog::logger>("run", std::move(sink));
    file_->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})", spdlog::pattern_time_type::utc));
    file_->set_level(spdlog::level::trace);
    file_->flush_on(spdlog::level::trace);
    file_->set_error_handler([](const std::string&) {});
  } catch (const spdlog::spdlog_ex&) {
    file_.reset();
  }
  for (const Line& line : waiting_) {
    write(line);
  }
  waiting_.clear();
}

void RunLog::add(int level, std::string_view module, std::string_view cell,
                 std::string_view message) {
  const std::lock_guard lock(mutex_);
  const Line line{level, std::string(module), std::string(cell), std::string(message)};
  last_.push_back(module.empty() ? line.message : line.module + ": " + line.message);
  if (last_.size() > kLastLines) {
    last_.pop_front();
  }
  if (file_ != nullptr) {
    write(line);
  } else if (waiting_.size() < kMostWaiting) {
    waiting_.push_back(line);
  }
}

std::vector<std::string> RunLog::last_lines() const {
  const std::lock_guard lock(mutex_);
  return {last_.begin(), last_.end()};
}

void RunLog::write(const Line& line) {
  if (file_ == nullptr) {
    return;
  }
  const auto text = [](const std::string& value) {
    return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  static constexpr spdlog::level::level_enum kLevels[] = {spdlog::level::debug, spdlog::level::info,
                                                          spdlog::level::warn, spdlog::level::err};
  file_->log(kLevels[std::clamp(line.level, QUENCH_LOG_DEBUG, QUENCH_LOG_ERROR)],
             R"("level":"{}","plugin":{},"cell":{},"message":{})", level_name(line.level),
             line.module.empty() ? "null" : text(line.module),
             line.cell.empty() ? "null" : text(line.cell), text(line.message));
}

}  // namespace quench
