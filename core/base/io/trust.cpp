#include "core/base/io/trust.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "core/error.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestEntry = size_t{1} << 16;  // bytes, user and group databases

std::optional<std::string> known_user(uid_t user) {
  std::string buffer(kLargestEntry, '\0');
  passwd entry = {};
  passwd* found = nullptr;
  const int failed = getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  return failed == 0 && found != nullptr ? std::optional<std::string>(found->pw_name)
                                         : std::nullopt;
}

// Whether the group is this user's own: it has the user's name and no other members.
bool is_own_group(gid_t group, uid_t user) {
  std::string buffer(kLargestEntry, '\0');
  struct group entry = {};
  struct group* found = nullptr;
  const std::optional<std::string> name = known_user(user);
  if (!name || getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr || *name != found->gr_name) {
    return false;
  }
  char** member = found->gr_mem;
  while (*member != nullptr && *name == *member) {
    ++member;
  }
  return *member == nullptr;
}

std::string distrust(const char* what, const fs::path& path, const struct stat& status,
                     const Trusted& trusted) {
  const auto holds = [](const auto& list, auto value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  if (status.st_uid != 0 && !holds(trusted.users, status.st_uid)) {
    return fmt::format("the {} belongs to user {}", what, user_name(status.st_uid));
  }
  if ((status.st_mode & S_IWOTH) != 0) {
    return fmt::format("the {} is writable by everyone (chmod o-w {})", what, path.string());
  }
  if ((status.st_mode & S_IWGRP) != 0 && !holds(trusted.groups, status.st_gid) &&
      !is_own_group(status.st_gid, status.st_uid)) {
    return fmt::format("the {} is writable by a group (chmod g-w {})", what, path.string());
  }
  return "";
}

}  // namespace

std::string user_name(uid_t user) {
  const std::optional<std::string> name = known_user(user);
  return name ? fmt::format("{} ({})", printable(*name, 64), user) : std::to_string(user);
}

std::string distrust_of_file(const fs::path& file, const Trusted& trusted) {
  struct stat status = {};
  if (stat(file.c_str(), &status) != 0) {
    return std::strerror(errno);
  }
  return distrust("file", file, status, trusted);
}

// Looks only at those parent folders that everyone can write to. (On a cluster, parent folders
// often belong to the leader of a group and are writable by the group.) In a sticky folder other
// users can add entries but neither rename nor replace this one.
std::string distrust_of_folder(const fs::path& folder, const Trusted& trusted) {
  struct stat status = {};
  for (fs::path part = folder;; part = part.parent_path()) {
    if (stat(part.c_str(), &status) != 0) {
      return fmt::format("{}: {}", part.string(), std::strerror(errno));
    }
    if (part == folder && !S_ISDIR(status.st_mode)) {
      return "not a folder";
    }
    if (const std::string fault = part == folder ? distrust("folder", part, status, trusted) : "";
        !fault.empty()) {
      return fault;
    }
    if (part != folder && (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) {
      return fmt::format("{} is writable by everyone (chmod o-w {})", part.string(), part.string());
    }
    if (part == part.root_path()) {
      return "";
    }
  }
}

}  // namespace quench
