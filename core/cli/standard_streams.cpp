#include "core/cli/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kMaxLine = 65536;

}  // namespace

void guard_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) {
      // The lowest free number is this one. Opened the wrong way round, so that use is an error.
      ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

void print_error(const std::string& line) noexcept {
  std::string out;
  for (size_t begin = 0; begin <= line.size();) {  // a message may have lines of its own
    const size_t end = std::min(line.find('\n', begin), line.size());
    out += printable(std::string_view(line).substr(begin, end - begin), kMaxLine) + "\n";
    begin = end + 1;
  }
  std::fputs(out.c_str(), stderr);
}

bool flush_output() noexcept {
  std::cout.flush();
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0 && std::cout.good()) {
    return true;
  }
  print_error(std::string("standard output: write failed") +
              (errno != 0 ? std::string(": ") + std::strerror(errno) : ""));
  return false;
}

}  // namespace quench
