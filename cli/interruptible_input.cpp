#include "cli/interruptible_input.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/error.hpp"

namespace quench {

InterruptibleInput::int_type InterruptibleInput::underflow() {
  for (;;) {
    if (cancel_) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    // Waits with a timeout, because a signal may arrive between the check above and the wait.
    constexpr int kMilliseconds = 100;
    pollfd waited{descriptor_, POLLIN, 0};
    if (::poll(&waited, 1, kMilliseconds) <= 0) {
      continue;
    }
    const ssize_t got = ::read(descriptor_, buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      continue;
    }
    if (got < 0) {
      fail(QUENCH_DATA_LOSS, "standard input: cannot be read: {}",
           std::generic_category().message(errno));
    }
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return got == 0 ? traits_type::eof() : traits_type::to_int_type(buffer_[0]);
  }
}

std::streamsize InterruptibleInput::showmanyc() {
  pollfd waited{descriptor_, POLLIN, 0};
  return ::poll(&waited, 1, 0) > 0 ? 1 : 0;
}

}  // namespace quench
