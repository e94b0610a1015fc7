// Says to other processes which snapshots this one reads or fetches, so that none takes their
// weights away.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "core/base/io/descriptor.hpp"

namespace quench {

// Claims and removals happen one after the other. Where the file system has no
// locks, a removal may overtake a claim by the moment between its two steps; the reader's cell then
// says that the weights are not there.
class RepositoryLock {
 public:
  // `repository`: models--org--name in the cache. Waits. Never throws: without it there is none.
  explicit RepositoryLock(const std::filesystem::path& repository);

 private:
  Descriptor descriptor_;
};

// One small file in the folder .quench of each repository, whose name tells the process. It goes
// with the object; that of a process that died is removed by the next one on its machine. A cache
// that cannot be written is not claimed, and not cleared by this process either.
class HubClaim {
 public:
  // Commits by the repository's folder.
  using Commits = std::map<std::filesystem::path, std::set<std::string>>;

  HubClaim();
  ~HubClaim();
  HubClaim(const HubClaim&) = delete;
  HubClaim& operator=(const HubClaim&) = delete;

  // Claims these from now on, and no others.
  void set(const Commits& commits);

 private:
  std::string name_;
  std::set<std::filesystem::path> repositories_;
};

// Removes the claims of processes that died, for a run that ends without a claim of its own: the
// one before it may have been killed when all was done. Never throws.
void remove_dead_claims(const std::filesystem::path& repository);

// What other processes have claimed of a repository. A process of another machine counts as alive
// for two days after it claimed last, which a run does for each set of weights.
class OtherClaims {
 public:
  explicit OtherClaims(const std::filesystem::path& repository);
  bool contain(const std::string& commit) const { return all_ || commits_.contains(commit); }

 private:
  bool all_ = false;  // one could not be read
  std::set<std::string> commits_;
};

}  // namespace quench
