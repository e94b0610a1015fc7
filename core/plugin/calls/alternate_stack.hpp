// A stack for signal handlers on this thread, so that a stack overflow can still be
// reported.
#pragma once

#include <cstddef>
#include <memory>

namespace quench {

class AlternateStack {
 public:
  // Does nothing without memory, or if the thread has such a stack already.
  AlternateStack() noexcept;
  ~AlternateStack();
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  static constexpr size_t kBytes = size_t{64} << 10;  // AVX-512's registers alone take 3 KB
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace quench
