#include "core/base/io/utc_time.hpp"

#include <fmt/format.h>

#include <ctime>

namespace quench {

namespace {

std::string utc(time_t seconds, const char* form) {
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, form, &parts)};
}

}  // namespace

std::string utc_now() {
  return utc(::time(nullptr), "%Y-%m-%dT%H:%M:%SZ");
}

std::string utc_now_to_milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return fmt::format("{}.{:03}Z", utc(now.tv_sec, "%Y-%m-%dT%H:%M:%S"), now.tv_nsec / 1'000'000);
}

}  // namespace quench
