// What hf://org/name/file@revision names.
#pragma once

#include <string>
#include <string_view>

namespace quench {

// hf://[datasets/][org/]name[/file...][@revision]. The revision begins after the first '@' and may
// contain slashes; without '@' it is "main".
struct HubSpec {
  bool dataset = false;
  std::string repository;  // "org/name" or "name"
  std::string file;        // path inside the repository, "" for the whole repository
  std::string revision;
};

// Whether a text is such a spec, right or wrong.
bool is_hub_spec(std::string_view text);
// A repository name without organisation cannot have a file. Throws Error(INVALID_ARGUMENT).
HubSpec parse_hub_spec(const std::string& spec);

// "hf://org/name", without file and revision.
std::string repository_text(const HubSpec& spec);
// The spec as it is typed; the revision "main" is left out.
std::string to_text(const HubSpec& spec);

// Whether the text is 40 lower-case hexadecimal digits.
bool is_commit(std::string_view text);
// Whether a path has plain names only, so that it stays inside a folder that it is appended to.
bool is_plain_path(const std::string& path);

}  // namespace quench
