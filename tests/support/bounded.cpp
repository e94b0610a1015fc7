#include "tests/support/bounded.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <fstream>
#include <new>
#include <stdexcept>

#include "core/base/process/child_process.hpp"

namespace quench::test {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

size_t address_space() {
  std::ifstream in("/proc/self/statm");
  size_t pages = 0;
  in >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

void limit(size_t mebibytes) {
  const rlim_t time = kSanitized ? 600 : 60;  // seconds of the processor
  const rlimit processor{time, time};
  ::setrlimit(RLIMIT_CPU, &processor);
  const rlim_t space = address_space() + (mebibytes << 20);
  const rlimit memory{space, space};
  if (!kSanitized) {
    ::setrlimit(RLIMIT_AS, &memory);
  }
  const rlimit core{0, 0};
  ::setrlimit(RLIMIT_CORE, &core);
}

std::string message_of_body(const std::function<void()>& body) {
  try {
    body();
    return "";
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::string message_within(size_t mebibytes, const std::function<void()>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    throw std::runtime_error("no pipe for a child");
  }
  ChildProcess child = ChildProcess::start_copy([&] {
    limit(mebibytes);
    const std::string message = message_of_body(body).substr(0, 4096);  // what a pipe takes at once
    const ssize_t put = ::write(ends[1], message.data(), message.size());
    return put == static_cast<ssize_t>(message.size()) ? 0 : 1;
  });
  ::close(ends[1]);
  std::string message;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    message.append(buffer.data(), static_cast<size_t>(got));
  }
  ::close(ends[0]);
  const ProcessEnd end = child.wait();
  return end.signal != 0 ? "ended by signal " + std::to_string(end.signal) : message;
}

}  // namespace quench::test
