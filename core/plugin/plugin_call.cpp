#include "core/plugin/plugin_call.hpp"

#include "core/error.hpp"

namespace quench {

thread_local constinit CallFrame* innermost_call = nullptr;

const FloatingState kHostFloatingState = FloatingState::now();

namespace {

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

void PluginCall::throw_disturbance(const CallFrame& frame) {
  fail(QUENCH_INTERNAL, "{}", message_of(frame));
}

}  // namespace quench
