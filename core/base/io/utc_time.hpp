// The time of day for people, as files show it. Nothing is decided by it.
#pragma once

#include <string>

namespace quench {

// UTC in ISO 8601: "2026-11-23T17:20:05Z".
std::string utc_now();
// "2026-11-23T17:20:05.123Z".
std::string utc_now_to_milliseconds();

}  // namespace quench
