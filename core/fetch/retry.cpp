#include "core/fetch/retry.hpp"

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

void RetryBackoff::wait_after(const TryAgain& failure) {
  if (++failures_ >= policy_.tries) {
    fail(QUENCH_FAILED_PRECONDITION, "{}; gave up after {} tries", failure.what(), policy_.tries);
  }
  const double doubled =
      std::min(failures_ == 1 ? policy_.first_seconds : 2 * last_seconds_, policy_.longest_seconds);
  last_seconds_ = doubled;
  const double asked = failure.wait_seconds().value_or(0);
  if (asked > policy_.longest_asked_seconds) {
    fail(QUENCH_FAILED_PRECONDITION, "{}; the server asks for {:.0f} s without requests",
         failure.what(), asked);
  }
  const double seconds =
      asked + doubled * std::uniform_real_distribution<double>(0.5, 1.0)(random_);
  policy_.on_wait(fmt::format("{}; trying again in {:.1f} s ({} of {})", failure.what(), seconds,
                              failures_ + 1, policy_.tries));
  pause(seconds, policy_.cancel);
}

void retry(const RetryPolicy& policy, const std::function<void(RetryBackoff&)>& work) {
  RetryBackoff backoff(policy);
  for (;;) {
    try {
      work(backoff);
      return;
    } catch (const TryAgain& failure) {
      backoff.wait_after(failure);
    }
  }
}

}  // namespace quench
