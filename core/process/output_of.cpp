#include "core/process/output_of.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/process/child_process.hpp"

namespace quench {

namespace {

constexpr size_t kMostBytes = size_t{1} << 20;

// Memory that the child writes into as into a file.
class Memory {
 public:
  Memory() : descriptor_(::memfd_create("output", MFD_CLOEXEC)) {
    if (descriptor_ < 0) {
      throw std::system_error(errno, std::generic_category(), "memfd_create");
    }
  }
  ~Memory() { ::close(descriptor_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  int descriptor() const { return descriptor_; }

  std::string text() const {
    std::string out(kMostBytes, '\0');
    size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t got = ::pread(descriptor_, out.data() + filled, out.size() - filled,
                                  static_cast<off_t>(filled));
      if (got <= 0) {
        break;
      }
      filled += static_cast<size_t>(got);
    }
    out.resize(filled);
    return out;
  }

 private:
  int descriptor_;
};

}  // namespace

ProgramOutput output_of(const std::vector<std::string>& words, std::chrono::seconds limit) {
  const Memory out;
  const Memory err;
  Command command;
  command.words = words;
  command.streams = {ChildStream::file(STDIN_FILENO, "/dev/null", O_RDONLY),
                     ChildStream::copy(STDOUT_FILENO, out.descriptor()),
                     ChildStream::copy(STDERR_FILENO, err.descriptor())};
  ChildProcess child = ChildProcess::start(command);
  ProgramOutput result;
  result.timed_out = !child.ends_within(limit);
  result.code = (result.timed_out ? child.end() : child.wait()).code();
  result.out = out.text();
  result.err = err.text();
  return result;
}

}  // namespace quench
