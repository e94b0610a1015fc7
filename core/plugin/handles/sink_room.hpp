// How much of the host's memory the results of one call of a plugin may take. A plugin in a process
// of its own that goes on and on without an end must not take the host with it.
#pragma once

#include <cstdint>
#include <string>

namespace quench {

class SinkRoom {
 public:
  // `what` it is that there is room for: "tensors of one linear".
  SinkRoom(const char* what, uint64_t most) : what_(what), most_(most) {}

  // Takes the room of something called `name`, and of its name. Throws Error(RESOURCE_EXHAUSTED)
  // with what was asked for and how much there is; the host's call then fails, too, whatever the
  // plugin makes of it (require_enough).
  void take(const char* name, uint64_t bytes);
  // Throws that error again, after the call of the plugin `label`.
  void require_enough(const std::string& label) const;

 private:
  const char* what_;
  uint64_t most_;
  uint64_t held_ = 0;
  std::string refused_;
};

}  // namespace quench
