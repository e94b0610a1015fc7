// How often to try again, and how long to wait before.
#pragma once

#include <atomic>
#include <functional>
#include <random>
#include <string>

#include "core/fetch/http.hpp"

namespace quench {

// What all requests of one fetch share.
struct RetryPolicy {
  int tries = 5;             // in a row without anything received
  double first_seconds = 1;  // before the second try; doubles with each
  double longest_seconds = 30;
  double longest_asked_seconds = 600;  // a server that asks for more is not waited for
  const std::atomic<bool>* cancel = nullptr;
  // One line for people on what is waited for.
  std::function<void(const std::string&)> on_wait = [](const std::string&) {};
};

// Counts the failures of one piece of work.
class RetryBackoff {
 public:
  explicit RetryBackoff(const RetryPolicy& policy) : policy_(policy) {}

  // Waits before the next try: as long as the server asked, else twice as long as the last time,
  // less a random part, so that many processes do not come back together. Throws
  // Error(FAILED_PRECONDITION) after the last try, CANCELLED.
  void wait_after(const TryAgain& failure);
  // Something arrived: the line works, so failures count from 0 again.
  void progressed() { failures_ = 0; }

 private:
  const RetryPolicy& policy_;
  int failures_ = 0;
  double last_seconds_ = 0;
  std::mt19937 random_{std::random_device{}()};
};

// Runs `work` until it does not throw TryAgain. Throws what RetryBackoff and `work` throw.
void retry(const RetryPolicy& policy, const std::function<void(RetryBackoff&)>& work);

}  // namespace quench
