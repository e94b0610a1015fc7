// How this thread's floating-point unit rounds, how it treats numbers near zero and which faults it
// traps. Code that leaves the state changed changes the numbers of everything that runs on the
// thread afterwards.
#pragma once

#include <cstdint>
#include <string>
#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace quench {

struct FloatingState {
  uint32_t control = 0;  // MXCSR without its sticky flags; elsewhere the rounding mode of <cfenv>
  uint16_t x87 = 0;      // the control word of the old unit, which computes long double

  bool operator==(const FloatingState&) const = default;

  // Takes a few nanoseconds.
  static FloatingState now() noexcept {
    FloatingState state;
#if defined(__x86_64__)
    constexpr uint32_t kSticky = 0x3F;
    state.control = _mm_getcsr() & ~kSticky;
    __asm__ volatile("fnstcw %0" : "=m"(state.x87));
#else
    state.control = static_cast<uint32_t>(std::fegetround());
#endif
    return state;
  }
  // Sets it on the calling thread.
  void set() const noexcept {
#if defined(__x86_64__)
    _mm_setcsr(control);
    __asm__ volatile("fldcw %0" : : "m"(x87));
#else
    std::fesetround(static_cast<int>(control));
#endif
  }
};

// Of the thread that started the program, before main: what all threads are to have.
extern const FloatingState kFloatingStateAtStart;

// A plugin's task has run on this thread of the pool: what it left changed is kept for
// floating_changes(). Takes a few nanoseconds. [thread-safe]
void look_at_floating_state() noexcept;

// "the rounding mode is now upward, wanted to nearest": what differs on this thread, or was seen
// on another since the program's start or the last call of forget_floating_changes; "" if nothing
// does. [thread-safe]
std::string floating_changes();

// What was seen so far was told: floating_changes() says what is seen from now on. [thread-safe]
void forget_floating_changes();

}  // namespace quench
