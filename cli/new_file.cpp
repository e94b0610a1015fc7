#include "cli/new_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.hpp"

namespace quench {

void write_new_file(const std::filesystem::path& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wx");
  if (file == nullptr && errno == EEXIST) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: already exists; name another file with -o", path.string());
  }
  if (file == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be written: {}", path.string(),
         std::strerror(errno));
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  if (!written || !closed) {
    const std::string why = std::strerror(errno);
    std::filesystem::remove(path);
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be written: {}", path.string(), why);
  }
}

}  // namespace quench
