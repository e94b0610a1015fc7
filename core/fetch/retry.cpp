#include "core/fetch/patience.hpp"

#include <algorithm>
#include <chrono>
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

}  // namespace

void Patience::wait_after(const TryAgain& failure) {
  const RetryPolicy& policy = persistence_.policy;
  if (++failures_ >= policy.tries) {
    fail(QUENCH_FAILED_PRECONDITION, "{}; gave up after {} tries", failure.what(), policy.tries);
  }
  const double doubled =
      std::min(failures_ == 1 ? policy.first_seconds : 2 * last_seconds_, policy.longest_seconds);
  last_seconds_ = doubled;
  const double asked = failure.wait_seconds().value_or(0);
  if (asked > policy.longest_asked_seconds) {
    fail(QUENCH_FAILED_PRECONDITION, "{}; the server asks for {:.0f} s without requests",
         failure.what(), asked);
  }
  const double seconds =
      asked + doubled * std::uniform_real_distribution<double>(0.5, 1.0)(random_);
  persistence_.on_wait(fmt::format("{}; trying again in {:.1f} s ({} of {})", failure.what(),
                                   seconds, failures_ + 1, policy.tries));
  pause(seconds, persistence_.cancel);
}

void persist(const Persistence& persistence, const std::function<void()>& work) {
  Patience patience(persistence);
  for (;;) {
    try {
      work();
      return;
    } catch (const TryAgain& failure) {
      patience.wait_after(failure);
    }
  }
}

}  // namespace quench
