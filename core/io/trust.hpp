// Whose files are taken for one's own. What another user may write is not read as a result, and not
// loaded as code.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace quench {

// Who may write beside root. A group that is its owner's own, as systems with a umask of 002 have
// one for each user, is no other.
struct Trusted {
  std::vector<uid_t> users;
  std::vector<gid_t> groups;
};

// Why others decide what lies in the folder, or "": it belongs to one of them, or they may write
// there or put another folder in its place. `folder` is canonical and there. "the folder is
// writable by everyone (chmod o-w /a/b)"
std::string distrust_of_folder(const std::filesystem::path& folder, const Trusted& trusted);

// Likewise of a file, without the folders above.
std::string distrust_of_file(const std::filesystem::path& file, const Trusted& trusted);

// "alice (1000)", or the number alone.
std::string user_name(uid_t user);

}  // namespace quench
