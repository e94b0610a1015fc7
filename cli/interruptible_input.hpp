// Standard input that a stop request interrupts.
#pragma once

#include <array>
#include <atomic>
#include <streambuf>

namespace quench {

// The standard library resumes a read that a signal interrupts, so a program that waits
// for a terminal or a pipe would not notice a stop request. Reading throws
// Error(CANCELLED) within a tenth of a second after `cancel` is set, Error(DATA_LOSS) if
// the device fails.
class InterruptibleInput final : public std::streambuf {
 public:
  // The caller keeps both alive.
  InterruptibleInput(int descriptor, const std::atomic<bool>& cancel)
      : descriptor_(descriptor), cancel_(cancel) {}

 private:
  int_type underflow() override;
  // Whether the next read would return at once: 1 or 0.
  std::streamsize showmanyc() override;

  int descriptor_;
  const std::atomic<bool>& cancel_;
  std::array<char, 1 << 16> buffer_{};
};

}  // namespace quench
