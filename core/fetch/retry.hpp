// How often to try again, and how long to wait before.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include "core/fetch/http.hpp"

namespace quench {

struct RetryPolicy {
  int tries = 5;             // in a row without anything received
  double first_seconds = 1;  // before the second try; doubles with each
  double longest_seconds = 30;
  double longest_asked_seconds = 600;  // a server that asks for more is not waited for
};

// What all requests of one fetch share.
struct Persistence {
  RetryPolicy policy;
  const std::atomic<bool>* cancel = nullptr;
  // One line for people on what is waited for.
  std::function<void(const std::string&)> on_wait = [](const std::string&) {};
};

// Counts the failures of one piece of work.
class Patience {
 public:
  explicit Patience(const Persistence& persistence) : persistence_(persistence) {}

  // Waits before the next try: as long as the server asked, else twice as long as the last time,
  // less a random part, so that many processes do not come back together. Throws
  // Error(FAILED_PRECONDITION) after the last try, CANCELLED.
  void wait_after(const TryAgain& failure);
  // Something arrived: the line works, so failures count from 0 again.
  void progressed() { failures_ = 0; }

 private:
  const Persistence& persistence_;
  int failures_ = 0;
  double last_seconds_ = 0;
  std::mt19937 random_{std::random_device{}()};
};

// Runs `work` until it does not throw TryAgain. Throws what Patience and `work` throw.
void persist(const Persistence& persistence, const std::function<void()>& work);

}  // namespace quench
