#include "tests/support/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace quench::test {

std::optional<Terminal> Terminal::open() {
  const int descriptor = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) {
    return std::nullopt;
  }
  char path[64] = {};
  const bool ready = grantpt(descriptor) == 0 && unlockpt(descriptor) == 0 &&
                     ptsname_r(descriptor, path, sizeof path) == 0 &&
                     access(path, R_OK | W_OK) == 0;
  if (!ready) {
    close(descriptor);
    return std::nullopt;
  }
  return Terminal(descriptor, path);
}

Terminal::Terminal(Terminal&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

Terminal::~Terminal() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

void Terminal::set_columns(unsigned short columns) const {
  const winsize size{24, columns, 0, 0};
  ioctl(descriptor_, TIOCSWINSZ, &size);
}

ChildProcess Terminal::start(Command command, const std::filesystem::path& output) const {
  command.group = ChildGroup::kSession;
  command.streams = {ChildStream::file(0, path_, O_RDWR), ChildStream::copy(1, 0),
                     ChildStream::copy(2, 0)};
  if (!output.empty()) {
    command.streams[1] = ChildStream::file(1, output, O_WRONLY | O_CREAT | O_TRUNC);
  }
  return ChildProcess::start(command);
}

std::string Terminal::read_until(const std::string& wanted, std::chrono::seconds limit) const {
  constexpr int kTick = 100;  // ms
  std::string shown;
  const auto end = std::chrono::steady_clock::now() + limit;
  while (shown.find(wanted) == std::string::npos && std::chrono::steady_clock::now() < end) {
    pollfd ready{descriptor_, POLLIN, 0};
    if (poll(&ready, 1, kTick) <= 0) {
      continue;
    }
    char buffer[4096];
    const ssize_t got = ::read(descriptor_, buffer, sizeof buffer);
    if (got <= 0) {
      break;  // nobody has the terminal open any more
    }
    shown.append(buffer, static_cast<size_t>(got));
  }
  return shown;
}

size_t widest_line(const std::string& shown) {
  size_t widest = 0;
  size_t column = 0;
  for (size_t i = 0; i < shown.size(); ++i) {
    const bool character = (static_cast<unsigned char>(shown[i]) & 0xC0) != 0x80;
    if (shown[i] == '\033') {  // a sequence such as ESC [ 31 m takes no room
      while (i + 1 < shown.size() && std::isalpha(static_cast<unsigned char>(shown[i])) == 0) {
        ++i;
      }
    } else if (shown[i] == '\r' || shown[i] == '\n') {
      column = 0;
    } else if (character) {
      widest = std::max(widest, ++column);
    }
  }
  return widest;
}

}  // namespace quench::test
