// How often to try again, and how long to wait before.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "core/hub/fetch/http.hpp"

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

// Runs `work` until it does not throw TryAgain; `failures` are those in a row, and work that gets
// something on sets them to 0. Waits before the next try as long as the server asked, else twice
// as long as the last time, less a random part, so that many processes do not come back together.
// Throws Error(FAILED_PRECONDITION) after the last try, CANCELLED, and what `work` throws.
void retry(const RetryPolicy& policy, const std::function<void(int& failures)>& work);

}  // namespace quench
