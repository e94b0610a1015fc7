#include "core/plugin/calls/alternate_stack.hpp"

#include <signal.h>

#include <new>

namespace quench {

AlternateStack::AlternateStack() noexcept {
  stack_t there{};
  if (sigaltstack(nullptr, &there) != 0 || (there.ss_flags & SS_DISABLE) == 0) {
    return;  // a sanitizer's, for example
  }
  memory_.reset(new (std::nothrow) std::byte[kBytes]);
  if (memory_) {
    const stack_t stack{memory_.get(), 0, kBytes};
    sigaltstack(&stack, nullptr);
  }
}

AlternateStack::~AlternateStack() {
  if (memory_) {
    const stack_t none{nullptr, SS_DISABLE, 0};
    sigaltstack(&none, nullptr);
  }
}

}  // namespace quench
