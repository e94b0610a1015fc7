// One call into a plugin. During it, this thread knows the plugin, so that a signal handler can
// report it if the process ends. After it, the floating-point state is the host's.
#pragma once

#include <cstdint>
#include <string>

#include "core/plugin/floating_state.hpp"

namespace quench {

// The part of the model that a call is about, for messages.
struct CallPlace {
  const char* name = nullptr;  // name of a linear; must live as long as the call
  int64_t block = -1;          // used without a name; -1: none
};

// Plain memory, so that a signal handler can read it.
struct CallFrame {
  const char* plugin = nullptr;    // "quantizer gptq"
  const char* function = nullptr;  // "quantize"
  CallPlace place;
  CallFrame* outer = nullptr;  // the call of this thread that encloses this one
  bool disturbed = false;      // it, or one of its own tasks, changed the floating-point state
  FloatingState found;         // that state
};

// The innermost call of this thread, or nullptr.
extern thread_local constinit CallFrame* innermost_call;

// The state of all host threads, taken before main.
extern const FloatingState kHostFloatingState;

class PluginCall {
 public:
  // Both strings must live as long as the object.
  PluginCall(const char* plugin, const char* function, CallPlace place = {}) noexcept
      : frame_{plugin, function, place, innermost_call, false, {}} {
    if (FloatingState::now() != kHostFloatingState) [[unlikely]] {
      // Within a plugin's call, that plugin changed it; what is called now is to know nothing of
      // it.
      blame(frame_.outer, FloatingState::now());
    }
    innermost_call = &frame_;
  }
  // Without finish(), the state is restored all the same.
  ~PluginCall() {
    if (innermost_call == &frame_) {
      end();
    }
  }
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

  // The call has returned. Restores the floating-point state and throws Error(INTERNAL) naming
  // plugin, function and change if it was changed.
  void finish() {
    end();
    if (frame_.disturbed) [[unlikely]] {
      throw_disturbance(frame_);
    }
  }

  // For calls that cannot throw, such as a task: restores the state and returns whether it changed.
  bool disturbed() noexcept {
    end();
    return frame_.disturbed;
  }
  const FloatingState& found() const { return frame_.found; }

  // Restores the host's state on this thread, and records `found` in `frame` if there is one.
  static void blame(CallFrame* frame, const FloatingState& found) noexcept;

 private:
  void end() noexcept {
    if (FloatingState::now() != kHostFloatingState) [[unlikely]] {
      blame(&frame_, FloatingState::now());
    }
    innermost_call = frame_.outer;
  }
  [[noreturn]] static void throw_disturbance(const CallFrame& frame);

  CallFrame frame_;
};

}  // namespace quench
