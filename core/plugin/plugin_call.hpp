// One call into a plugin. While it lasts, this thread knows whom it called: what a signal handler
// says of it when the process ends meanwhile. When it ends, the floating-point state is the host's.
#pragma once

#include <cstdint>
#include <string>

#include "core/plugin/floating_state.hpp"

namespace quench {

// What of the model a call is about, for messages.
struct CallPlace {
  const char* name = nullptr;  // of a linear; lives as long as the call
  int64_t block = -1;          // where there is no name; -1: none
};

// Plain memory, so that a signal handler can read it.
struct CallFrame {
  const char* plugin = nullptr;    // "quantizer gptq"
  const char* function = nullptr;  // "quantize"
  CallPlace place;
  CallFrame* outer = nullptr;  // the call of this thread within which this one was made
  bool disturbed = false;      // it, or a task of its own, left another floating-point state
  FloatingState found;         // that state
};

// The innermost call of this thread, or nullptr.
extern thread_local constinit CallFrame* innermost_call;

// The state that all of the host's threads have, taken before main.
extern const FloatingState kHostFloatingState;

class PluginCall {
 public:
  // Both strings live as long as the object.
  PluginCall(const char* plugin, const char* function, CallPlace place = {}) noexcept
      : frame_{plugin, function, place, innermost_call, false, {}} {
    if (FloatingState::now() != kHostFloatingState) [[unlikely]] {
      // Within a plugin's call, that plugin changed it; what is called now is to know nothing of
      // it.
      blame(frame_.outer, FloatingState::now());
    }
    innermost_call = &frame_;
  }
  // Where finish() was not called, what was left changed is kept for take_disturbance().
  ~PluginCall() {
    if (innermost_call == &frame_) {
      end();
      if (frame_.disturbed) [[unlikely]] {
        keep_disturbance(frame_);
      }
    }
  }
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  // The call has returned. Sets the floating-point state back and throws Error(INTERNAL) that names
  // plugin, function and what was changed, where it was not the host's.
  void finish() {
    end();
    if (frame_.disturbed) [[unlikely]] {
      throw_disturbance(frame_);
    }
  }

  // For calls that cannot throw, as of a task: whether the state was changed; sets it back.
  bool disturbed() noexcept {
    end();
    return frame_.disturbed;
  }
  const FloatingState& found() const { return frame_.found; }

  // Sets the host's state on this thread, and remembers `found` in `frame` if there is one.
  static void blame(CallFrame* frame, const FloatingState& found) noexcept;

 private:
  void end() noexcept {
    if (FloatingState::now() != kHostFloatingState) [[unlikely]] {
      blame(&frame_, FloatingState::now());
    }
    innermost_call = frame_.outer;
  }
  static void keep_disturbance(const CallFrame& frame) noexcept;
  [[noreturn]] static void throw_disturbance(const CallFrame& frame);

  CallFrame frame_;
};

// What a call that cannot fail (destroy, end, close) left changed since the last question, as the
// message of an error; "" where nothing was.
std::string take_disturbance();

}  // namespace quench
