#include "core/pass/pass_clock.hpp"

#include <ctime>

namespace quench {

PassClock::Reading PassClock::read() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return {std::chrono::steady_clock::now(),
          static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9};
}

void PassClock::add(const char* part, const Reading& before) {
  const Reading now = read();
  cpu_seconds_[part] += now.processor - before.processor;
  seconds_[part] += std::chrono::duration<double>(now.wall - before.wall).count();
}

void PassClock::stop() {
  add("all", start_);
  double named = 0;
  for (const char* part : {"forward", "float forward", "observe", "quantize", "error", "scoring"}) {
    named += seconds_[part];
  }
  seconds_["other"] = seconds_["all"] - named;
}

}  // namespace quench
