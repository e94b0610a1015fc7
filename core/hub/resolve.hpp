// hf://org/name@revision to a folder of the Hugging Face cache, without touching the network.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/hub/environment.hpp"

namespace quench {

// hf://[datasets/][org/]name[/file...][@revision]. The first '@' begins the revision, which may
// hold slashes; without one it is "main".
struct HubSpec {
  bool dataset = false;
  std::string repository;  // "org/name" or "name"
  std::string file;        // path inside the repository, "" for all of it
  std::string revision;
};

// A repository of one component is only possible without a file. Throws Error(INVALID_ARGUMENT).
HubSpec parse_hub_spec(const std::string& spec);

struct ResolvedModel {
  std::filesystem::path folder;  // snapshots/<commit>
  std::string repository;
  std::string revision;  // as asked for
  std::string commit;    // 40 hexadecimal digits
  std::string file;      // as in the spec, checked to be there
};

// Looks the spec up in the cache as the Python client lays it out: refs/<revision> holds a commit,
// snapshots/<commit> its files; a revision of 40 hexadecimal digits is a commit itself. Every file
// of the snapshot is checked by check_snapshot. Throws Error: INVALID_ARGUMENT (spec), NOT_FOUND
// (with what is in the cache), DATA_LOSS (a damaged cache).
ResolvedModel resolve(const std::string& spec, const HubEnvironment& environment);

// Names of the refs of hf://org/name that lie in the cache, sorted; they may hold slashes. Empty
// when the repository is not there. Throws Error(INVALID_ARGUMENT) for a bad spec.
std::vector<std::string> cached_revisions(const std::string& spec,
                                          const HubEnvironment& environment);

}  // namespace quench
