#include "core/plugin/worker/worker_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quench {

void SilenceClock::count(bool is_log_line, int pauses, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  last_ = now;
  last_beside_ = is_log_line ? last_beside_ : now;
  pauses_ += pauses;
}

std::string SilenceClock::exceeded(Clock::time_point since, Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  if (seconds_ <= 0 || pauses_ > 0) {
    return "";
  }
  const auto passed = [&](Clock::time_point sign) {
    return std::chrono::duration<double>(now - std::max(sign, since)).count();
  };
  if (passed(last_) >= seconds_) {
    return fmt::format("gave no sign for {:.0f} s", seconds_);
  }
  if (passed(last_beside_) >= kMostOfLogLines * seconds_) {
    return fmt::format("gave no sign but log lines for {:.0f} s", kMostOfLogLines * seconds_);
  }
  return "";
}

std::optional<uint64_t> MemoryWatch::exceeded(Clock::time_point now) {
  constexpr std::chrono::seconds kBetweenLooks{1};
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (limit_bytes_ == 0 || !lock || found_) {
    return lock ? found_ : std::nullopt;
  }
  if (looked_ && now - *looked_ < kBetweenLooks) {
    return std::nullopt;
  }
  looked_ = now;
  const std::optional<uint64_t> held = worker_.memory();
  if (held && *held > limit_bytes_) {
    found_ = held;
  }
  return found_;
}

}  // namespace quench
