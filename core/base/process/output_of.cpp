#include "core/base/process/output_of.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "core/base/process/child_process.hpp"
#include "core/base/process/memory_file.hpp"

namespace quench {

namespace {

constexpr size_t kMostBytes = size_t{1} << 20;

}  // namespace

ProgramOutput output_of(const std::vector<std::string>& words, std::chrono::seconds limit) {
  const MemoryFile out;
  const MemoryFile err;
  Command command;
  command.words = words;
  command.streams = {ChildStream::file(STDIN_FILENO, "/dev/null", O_RDONLY),
                     ChildStream::copy(STDOUT_FILENO, out.descriptor()),
                     ChildStream::copy(STDERR_FILENO, err.descriptor())};
  ChildProcess child = ChildProcess::start(command);
  ProgramOutput result;
  result.timed_out = !child.ends_within(limit);
  result.code = (result.timed_out ? child.end() : child.wait()).code();
  result.out = out.text(kMostBytes);
  result.err = err.text(kMostBytes);
  return result;
}

}  // namespace quench
