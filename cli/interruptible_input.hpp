// Standard input that a request to stop ends.
#pragma once

#include <array>
#include <atomic>
#include <streambuf>

namespace quench {

// The standard library reads on when a signal interrupts a read, so a program that waits for a
// terminal or a pipe would not see that it is asked to stop. Reading throws
// Error(CANCELLED) within a tenth of a second after `cancel` is set, Error(DATA_LOSS) when the
// device fails.
class InterruptibleInput final : public std::streambuf {
 public:
  // Both are borrowed.
  InterruptibleInput(int descriptor, const std::atomic<bool>& cancel)
      : descriptor_(descriptor), cancel_(cancel) {}

 private:
  int_type underflow() override;

  int descriptor_;
  const std::atomic<bool>& cancel_;
  std::array<char, 1 << 16> buffer_{};
};

}  // namespace quench
