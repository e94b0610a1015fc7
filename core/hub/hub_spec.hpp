// What hf://org/name/file@revision names, and where it lies in the Hugging Face cache.
#pragma once

#include <filesystem>
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

// models--org--name or datasets--org--name in the cache.
std::filesystem::path repository_folder(const HubSpec& spec, const std::filesystem::path& root);

}  // namespace quench
