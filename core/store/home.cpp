#include "core/store/home.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/trust.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr const char* kMarkText =
    "This folder belongs to quench: its runs share data here (docs/records.md), and\n"
    "`quench clean` removes from it. Without this file `quench clean` leaves it alone.\n";

const std::set<std::string> kKept = {"records",      "fingerprints", "equivalences",
                                     "tokens",       "partial",      "training",
                                     "plugins.json", "rates.json",   kHomeMark};

std::optional<fs::path> absolute_folder(const std::optional<std::string>& text) {
  if (!text || !fs::path(*text).is_absolute()) {
    return std::nullopt;
  }
  return fs::path(*text).lexically_normal();
}

std::optional<fs::path> folder_of_user() {
  std::string buffer(size_t{1} << 16, '\0');
  passwd entry = {};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr) {
    return std::nullopt;
  }
  const std::optional<fs::path> folder = absolute_folder(found->pw_dir);
  std::error_code ignored;  // users of services may have a folder that does not exist
  return folder && fs::is_directory(*folder, ignored) ? folder : std::nullopt;
}

// The program's own temporary files begin with a dot.
bool has_only_what_is_kept(const fs::path& home) {
  std::error_code error;
  for (fs::directory_iterator it(home, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with('.') && !kKept.contains(name)) {
      return false;
    }
  }
  return !error;
}

// Ignores failures: a later write reports them.
void make_home(const fs::path& home) {
  try {
    make_folders(home.parent_path());
    if (mkdir(home.c_str(), 0700) == 0) {
      sync_folder_of(home);
    }
  } catch (const Error&) {
  }
}

void mark_home(const fs::path& home) {
  try {
    write_file_atomically(home / kHomeMark, kMarkText);
  } catch (const Error&) {
  }
}

}  // namespace

fs::path find_home(const HomeEnvironment& environment) {
  if (const auto& given = environment.quench_home; given && !given->empty()) {
    const std::optional<fs::path> folder = absolute_folder(given);
    if (!folder) {
      fail(QUENCH_INVALID_ARGUMENT, "QUENCH_HOME: got '{}', wanted an absolute folder",
           printable(*given, 4096));
    }
    return folder->has_filename() ? *folder : folder->parent_path();
  }
  if (const auto cache = absolute_folder(environment.xdg_cache_home)) {
    return *cache / "quench";
  }
  if (const auto home = absolute_folder(environment.home)) {
    return *home / ".cache/quench";
  }
  if (const auto home = folder_of_user()) {
    return *home / ".cache/quench";
  }
  fail(QUENCH_FAILED_PRECONDITION,
       "no folder for what runs share: HOME is not set, and user {} has no folder in the user "
       "database; set QUENCH_HOME",
       geteuid());
}

void open_home(const fs::path& home) {
  std::error_code error;
  if (!fs::exists(home, error)) {
    make_home(home);
  }
  const fs::path real = fs::canonical(home, error);
  if (error) {
    return;  // there is no folder, so nothing is found in it
  }
  const std::string fault = distrust_of_folder(real, {{geteuid()}, {}});
  if (!fault.empty()) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: {}, and its content would be trusted as this user's ({}) own results; set "
         "QUENCH_HOME to another folder",
         printable(home.string(), 4096), fault, user_name(geteuid()));
  }
  if (!is_marked_home(home) && has_only_what_is_kept(home)) {
    mark_home(home);
  }
}

void require_writable_home(const fs::path& home) {
  std::string why;
  try {
    make_folders(home);
    if (faccessat(AT_FDCWD, home.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
      why = std::generic_category().message(errno);
    }
  } catch (const Error& error) {
    why = error.what();
  }
  if (!why.empty()) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: cannot be written, and runs keep there what they share: {}; set QUENCH_HOME to "
         "another folder",
         printable(home.string(), 4096), why);
  }
}

bool is_marked_home(const fs::path& home) {
  struct stat status = {};
  return lstat((home / kHomeMark).c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace quench
