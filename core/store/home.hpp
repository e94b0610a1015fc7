// QUENCH_HOME: the folder of what a user's runs share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace quench {

// What the choice takes from the environment. main fills it by secure_getenv.
struct HomeEnvironment {
  std::optional<std::string> quench_home;     // QUENCH_HOME
  std::optional<std::string> xdg_cache_home;  // XDG_CACHE_HOME
  std::optional<std::string> home;            // HOME
};

inline constexpr const char* kHomeMark = "quench-home";

// $QUENCH_HOME, else $XDG_CACHE_HOME/quench, else .cache/quench in $HOME, else in the user's folder
// as the user database has it. An empty variable is as none, and so is a relative one but for
// QUENCH_HOME. Throws Error: INVALID_ARGUMENT for a relative QUENCH_HOME, FAILED_PRECONDITION where
// there is no such place.
std::filesystem::path find_home(const HomeEnvironment& environment);

// Makes the folder where it is not there, for this user alone, and marks it as quench's; also one
// that has nothing in it but what quench keeps. That this cannot be written is no error. Throws
// Error(FAILED_PRECONDITION) where others decide what lies in it: what is there would be believed.
void open_home(const std::filesystem::path& home);

// Whether it has the mark, without which nothing in it is removed.
bool is_marked_home(const std::filesystem::path& home);

}  // namespace quench
