// Resolves hf://org/name@revision to a folder of the Hugging Face cache; never uses the network.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

struct ResolvedModel {
  std::filesystem::path folder;  // snapshots/<commit>
  std::string repository;
  std::string revision;  // the name in the spec
  std::string commit;    // 40 hexadecimal digits
  std::string file;      // the file in the spec; it exists
};

// Looks the spec up in the cache, which the Python client lays out: refs/<revision> holds a commit,
// snapshots/<commit> its files; a revision of 40 hexadecimal digits is itself a commit. Checks
// every file of the snapshot with check_snapshot. Throws Error: INVALID_ARGUMENT (spec), NOT_FOUND
// (lists what the cache has), DATA_LOSS (damaged cache).
ResolvedModel resolve(const std::string& spec, const HubEnvironment& environment);

// The commit of the spec's revision, as far as the cache knows it, whether or not its files are
// there: "" if not. Throws Error: INVALID_ARGUMENT (spec), DATA_LOSS (damaged reference).
std::string known_commit(const std::string& spec, const HubEnvironment& environment);

// "; did you mean hf://org/name?" where the cache has no such repository but one of much the same
// name, else "".
std::string near_cached(const std::string& spec, const HubEnvironment& environment);

// The names of the refs of hf://org/name in the cache, sorted; names may contain slashes. Empty if
// the repository is not cached. Throws Error(INVALID_ARGUMENT) for a bad spec.
std::vector<std::string> cached_revisions(const std::string& spec,
                                          const HubEnvironment& environment);

}  // namespace quench
