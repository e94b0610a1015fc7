#include "core/base/io/process_identity.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/parse_number.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr size_t kPlaceDigits = 8;

// Empty where there is no such file, or no longer: a process can end between opening its file and
// reading it, and a buffer's iterators would throw then where getline sets a flag.
std::string content_of(const fs::path& path) {
  std::ifstream in(path);
  std::string text;
  std::getline(in, text, '\0');
  return text;
}

// The kernel's id of the current boot; "" if the kernel reports none.
std::string boot_id() {
  std::string id = content_of("/proc/sys/kernel/random/boot_id");
  return id.substr(0, id.find('\n'));
}

std::string place_of_this_process() {
  std::error_code none;
  const std::string numbers = fs::read_symlink("/proc/self/ns/pid", none).string();
  return sha256_hex(boot_id() + " " + numbers).substr(0, kPlaceDigits);
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return printable(name, sizeof name);
}

// Field 22 of /proc/<pid>/stat.
uint64_t process_start(int64_t pid) {
  const std::string text = content_of(fmt::format("/proc/{}/stat", pid));
  // The name in parentheses may contain anything; 19 fields lie between it and the start time.
  size_t at = text.rfind(')');
  for (int field = 0; field < 20 && at != std::string::npos; ++field) {
    at = text.find(' ', at + 1);
  }
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

ProcessIdentity this_process() {
  static const std::string place = place_of_this_process();
  return {place, ::getpid(), process_start(::getpid())};
}

std::string identity_text(const ProcessIdentity& process) {
  return fmt::format("{}-{}-{}", process.place, process.pid, process.start);
}

std::optional<ProcessIdentity> identity_from(std::string_view text) {
  const size_t first = text.find('-');
  const size_t second = text.rfind('-');
  if (first >= second || !is_hex(text.substr(0, first), kPlaceDigits)) {
    return std::nullopt;
  }
  const auto pid =
      parse_number<decltype(ProcessIdentity::pid)>(text.substr(first + 1, second - first - 1));
  const auto start = parse_number<decltype(ProcessIdentity::start)>(text.substr(second + 1));
  if (!pid || *pid <= 0 || !start) {
    return std::nullopt;
  }
  return ProcessIdentity{std::string(text.substr(0, first)), *pid, *start};
}

std::optional<bool> is_running(const ProcessIdentity& process) {
  const ProcessIdentity here = this_process();
  if (here.start == 0 || process.start == 0 || process.place != here.place) {
    return std::nullopt;
  }
  return process_start(process.pid) == process.start;
}

}  // namespace quench
