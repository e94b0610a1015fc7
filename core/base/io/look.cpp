#include "core/base/io/look.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <system_error>

#include "core/base/io/descriptor.hpp"
#include "core/base/io/passing_fault.hpp"
#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

void refuse_passing(const std::error_code& error, const fs::path& path) {
  if (is_passing_fault(error.value())) {
    fail(QUENCH_UNAVAILABLE, "{}: cannot be looked at: {}", printable(path.string(), 4096),
         error.message());
  }
}

fs::file_status look_at(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  refuse_passing(error, path);
  return status;
}

}  // namespace

bool see_entry(const fs::path& path, struct stat& out) {
  if (::lstat(path.c_str(), &out) == 0) {
    return true;
  }
  const Descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  return opened && ::fstat(opened.get(), &out) == 0;
}

bool exists_at(const fs::path& path) {
  return fs::exists(look_at(path));
}

bool is_file_at(const fs::path& path) {
  return fs::is_regular_file(look_at(path));
}

bool is_folder_at(const fs::path& path) {
  return fs::is_directory(look_at(path));
}

bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  const bool same = fs::equivalent(a, b, error);
  refuse_passing(error, a);
  return same;
}

fs::path folder_holding(const fs::path& path) {
  return is_folder_at(path) ? path : path.parent_path();
}

}  // namespace quench
