// QUENCH_HOME: the folder for everything that a user's runs share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace quench {

// The environment variables that decide. main reads them with secure_getenv.
struct HomeEnvironment {
  std::optional<std::string> quench_home;     // QUENCH_HOME
  std::optional<std::string> xdg_cache_home;  // XDG_CACHE_HOME
  std::optional<std::string> home;            // HOME
};

inline constexpr const char* kHomeMark = "quench-home";

// $QUENCH_HOME, else $XDG_CACHE_HOME/quench, else .cache/quench in $HOME, else in the home folder
// from the user database. An empty variable counts as unset, and so does a relative one except
// QUENCH_HOME. Throws Error: INVALID_ARGUMENT for a relative QUENCH_HOME, FAILED_PRECONDITION if
// there is no such folder.
std::filesystem::path find_home(const HomeEnvironment& environment);

// Creates the folder for this user alone if it is missing, and marks it as quench's, also an
// existing one that holds only what quench keeps. A failure to write is not an error. Throws
// Error(FAILED_PRECONDITION) if other users control its content, which would be trusted.
void open_home(const std::filesystem::path& home);

// Makes the folder if it is missing. Throws Error(FAILED_PRECONDITION) if nothing can be written
// there.
void require_writable_home(const std::filesystem::path& home);

// Whether the folder has the mark, without which nothing in it is removed.
bool is_marked_home(const std::filesystem::path& home);

}  // namespace quench
