#include "core/apart/worker_limits.hpp"

#include <algorithm>
#include <cmath>

namespace quench {

void SilenceClock::resume(Clock::time_point now) {
  if (--pauses_ == 0) {
    since_ = now;
  }
}

std::optional<double> SilenceClock::seconds_left(Clock::time_point now) const {
  if (seconds_ <= 0 || pauses_ > 0) {
    return std::nullopt;
  }
  return seconds_ - std::chrono::duration<double>(now - since_).count();
}

bool SilenceClock::exceeded(Clock::time_point now) const {
  const std::optional<double> left = seconds_left(now);
  return left && *left <= 0;
}

int SilenceClock::milliseconds_left(int longest, Clock::time_point now) const {
  const std::optional<double> left = seconds_left(now);
  if (!left) {
    return longest;
  }
  return static_cast<int>(std::clamp(std::ceil(*left * 1000), 0.0, static_cast<double>(longest)));
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
