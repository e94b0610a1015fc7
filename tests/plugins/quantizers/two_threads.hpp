// The test host with two threads: parallel_for and libtorch alike.
#pragma once

namespace quench::test {

// While it lives, kit code of this process runs its tasks on two threads, ranges dealt out in turn.
class TwoThreads {
 public:
  TwoThreads();
  ~TwoThreads();
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;
};

}  // namespace quench::test
