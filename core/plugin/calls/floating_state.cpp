#include "core/plugin/calls/floating_state.hpp"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <vector>

namespace quench {

const FloatingState kFloatingStateAtStart = FloatingState::now();

#if defined(__x86_64__)

namespace {

// MXCSR and the x87 control word code the rounding mode alike.
const char* rounding_name(uint32_t code) {
  static constexpr const char* kNames[] = {"to nearest", "downward", "upward", "toward zero"};
  return kNames[code & 3];
}

const char* precision_name(uint32_t code) {
  static constexpr const char* kNames[] = {"24 bits", "reserved", "53 bits", "64 bits"};
  return kNames[code & 3];
}

const char* on_off(uint32_t bit) {
  return bit != 0 ? "on" : "off";
}

// A field of bits of a control register.
struct Field {
  const char* what;
  uint32_t shift;
  uint32_t mask;  // after the shift
  const char* (*name)(uint32_t code);
};

// Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 10.2.3 and 8.1.5. A
// cleared mask means that the fault is trapped.
constexpr Field kSse[] = {{"the rounding mode", 13, 3, rounding_name},
                          {"flush-to-zero", 15, 1, on_off},
                          {"denormals-are-zero", 6, 1, on_off}};
constexpr Field kX87[] = {{"the x87 rounding mode", 10, 3, rounding_name},
                          {"the x87 precision", 8, 3, precision_name}};

template <size_t N>
void compare(const Field (&fields)[N], uint32_t found, uint32_t wanted, const char* rest,
             std::vector<std::string>& changes) {
  uint32_t named = 0;
  for (const Field& field : fields) {
    named |= field.mask << field.shift;
    const uint32_t is = (found >> field.shift) & field.mask;
    const uint32_t was = (wanted >> field.shift) & field.mask;
    if (is != was) {
      changes.push_back(
          fmt::format("{} is now {}, wanted {}", field.what, field.name(is), field.name(was)));
    }
  }
  if ((found & ~named) != (wanted & ~named)) {
    changes.push_back(fmt::format("{} is now {:#06x}, wanted {:#06x}", rest, found, wanted));
  }
}

std::string describe_change(const FloatingState& found, const FloatingState& wanted) {
  std::vector<std::string> changes;
  compare(kSse, found.control, wanted.control, "the mask of floating-point faults (MXCSR)",
          changes);
  // fesetround() changes both units alike, which counts as one change.
  constexpr uint32_t kX87Rounding = 0x0C00;
  uint32_t x87 = found.x87;
  if (((x87 >> 10) & 3) == ((found.control >> 13) & 3)) {
    x87 = (x87 & ~kX87Rounding) | (wanted.x87 & kX87Rounding);
  }
  compare(kX87, x87, wanted.x87, "the x87 control word", changes);
  return fmt::format("{}", fmt::join(changes, ", "));
}

}  // namespace

#else

namespace {

std::string describe_change(const FloatingState& found, const FloatingState& wanted) {
  return fmt::format("the rounding mode is now {}, wanted {}", found.control, wanted.control);
}

}  // namespace

#endif

namespace {

std::mutex mutex;
std::optional<FloatingState> left_changed;  // the first one that was seen

}  // namespace

void look_at_floating_state() noexcept {
  if (const FloatingState now = FloatingState::now(); now != kFloatingStateAtStart) {
    const std::lock_guard lock(mutex);
    left_changed = left_changed.value_or(now);
    kFloatingStateAtStart.set();  // what is shown and cleaned up after it is computed as before
  }
}

std::string floating_changes() {
  look_at_floating_state();
  const std::lock_guard lock(mutex);
  return left_changed ? describe_change(*left_changed, kFloatingStateAtStart) : "";
}

void forget_floating_changes() {
  look_at_floating_state();
  const std::lock_guard lock(mutex);
  left_changed.reset();
}

}  // namespace quench
