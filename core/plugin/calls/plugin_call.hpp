// One call into a plugin. During it, this thread knows the plugin, so that a signal handler can
// report it if the process ends.
#pragma once

#include <cstdint>

namespace quench {

// The part of the model that a call is about, for messages, and the instance that is called.
struct CallPlace {
  const char* name = nullptr;        // name of a linear; must live as long as the call
  int64_t block = -1;                // used without a name; -1: none
  const char* parameters = nullptr;  // of the instance, where it is one; lives as long as the call
};

// Plain memory, so that a signal handler can read it.
struct CallFrame {
  const char* plugin = nullptr;    // "quantizer gptq"
  const char* function = nullptr;  // "quantize"
  CallPlace place;
  CallFrame* outer = nullptr;  // the call of this thread that encloses this one
};

// The innermost call of this thread, or nullptr.
inline thread_local constinit CallFrame* innermost_call = nullptr;

class PluginCall {
 public:
  // Both strings must live as long as the object.
  PluginCall(const char* plugin, const char* function, CallPlace place = {}) noexcept
      : frame_{plugin, function, place, innermost_call} {
    innermost_call = &frame_;
  }
  ~PluginCall() { innermost_call = frame_.outer; }
  PluginCall(const PluginCall&) = delete;
  PluginCall& operator=(const PluginCall&) = delete;

 private:
  CallFrame frame_;
};

}  // namespace quench
