#include "core/hub/fetch/retry.hpp"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace quench {

namespace {

void pause(double seconds, const std::atomic<bool>* cancel) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLook{50};
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    if (cancel != nullptr && *cancel) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    std::this_thread::sleep_for(std::min<Clock::duration>(
        kLook, std::chrono::duration_cast<Clock::duration>(end - Clock::now())));
  }
}

// Seconds before the next try, of which `last` is the part that doubles.
double seconds_after(const TryAgain& failure, const RetryPolicy& policy, int failures,
                     double& last) {
  static thread_local std::mt19937 random{std::random_device{}()};
  if (failures >= policy.tries) {
    fail(QUENCH_FAILED_PRECONDITION, "{}; gave up after {} tries", failure.what(), policy.tries);
  }
  const double asked = failure.wait_seconds().value_or(0);
  if (asked > policy.longest_asked_seconds) {
    fail(QUENCH_FAILED_PRECONDITION, "{}; the server asks for {:.0f} s without requests",
         failure.what(), asked);
  }
  last = std::min(failures == 1 ? policy.first_seconds : 2 * last, policy.longest_seconds);
  return asked + last * std::uniform_real_distribution<double>(0.5, 1.0)(random);
}

}  // namespace

void retry(const RetryPolicy& policy, const std::function<void(int& failures)>& work) {
  int failures = 0;
  double last = 0;
  for (;;) {
    try {
      work(failures);
      return;
    } catch (const TryAgain& failure) {
      const double seconds = seconds_after(failure, policy, ++failures, last);
      policy.on_wait(fmt::format("{}; trying again in {:.1f} s ({} of {})", failure.what(), seconds,
                                 failures + 1, policy.tries));
      pause(seconds, policy.cancel);
    }
  }
}

}  // namespace quench
