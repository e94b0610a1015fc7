#include "core/plugin/plugin_call.hpp"

#include <mutex>
#include <utility>

#include "core/error.hpp"

namespace quench {

thread_local constinit CallFrame* innermost_call = nullptr;

const FloatingState kHostFloatingState = FloatingState::now();

namespace {

std::mutex kept_mutex;
std::string kept;

std::string message_of(const CallFrame& frame) {
  return fmt::format("{}: {}: {}; it was set back", frame.plugin, frame.function,
                     describe_change(frame.found, kHostFloatingState));
}

}  // namespace

void PluginCall::blame(CallFrame* frame, const FloatingState& found) noexcept {
  kHostFloatingState.set();
  if (frame != nullptr && !frame->disturbed) {
    frame->disturbed = true;
    frame->found = found;
  }
}

void PluginCall::keep_disturbance(const CallFrame& frame) noexcept {
  try {
    const std::lock_guard lock(kept_mutex);
    if (kept.empty()) {
      kept = message_of(frame);
    }
  } catch (...) {
    return;  // no memory for a message: the state is restored anyway
  }
}

void PluginCall::throw_disturbance(const CallFrame& frame) {
  fail(QUENCH_INTERNAL, "{}", message_of(frame));
}

std::string take_disturbance() {
  const std::lock_guard lock(kept_mutex);
  return std::exchange(kept, "");
}

}  // namespace quench
