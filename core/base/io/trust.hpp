// Decides whose files the program trusts as its own. It does not read a result, and does not load
// code, from a file that another user may write.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace quench {

// The users who may write, besides root. A group that belongs to one user alone (systems with umask
// 002 give each user one) does not count as another user.
struct Trusted {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;
};

// Says why other users control the content of the folder, or "" if they do not: the folder belongs
// to one of them, or they may write to it or replace it. `folder` is canonical and exists. Example:
// "the folder is writable by everyone (chmod o-w /a/b)"
std::string distrust_of_folder(const std::filesystem::path& folder, const Trusted& trusted);

// The same for a file; does not look at its parent folders.
std::string distrust_of_file(const std::filesystem::path& file, const Trusted& trusted);

// "alice (1000)", or the number alone if it has no name.
std::string user_name(uid_t user);

}  // namespace quench
