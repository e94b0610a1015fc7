#include "core/hub/hub_spec.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/parse_text.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScheme = "hf://";

[[noreturn]] void refuse(const std::string& spec, const char* what) {
  fail(QUENCH_INVALID_ARGUMENT,
       "{}: {}, wanted hf://org/name@revision or hf://datasets/org/name/file@revision",
       printable(spec), what);
}

// Whether the hub accepts `name` for an organisation or a repository.
bool is_repository_name(std::string_view name) {
  return !name.empty() && name.size() <= 96 && name.front() != '.' && name.front() != '-' &&
         name.find("..") == std::string::npos && name.find("--") == std::string::npos &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

}  // namespace

bool is_hub_spec(std::string_view text) {
  return text.starts_with(kScheme);
}

HubSpec parse_hub_spec(const std::string& spec) {
  if (!is_hub_spec(spec)) {
    refuse(spec, "does not begin with hf://");
  }
  std::string rest = spec.substr(kScheme.size());
  HubSpec out;
  const size_t at = rest.find('@');
  out.revision = at == std::string::npos ? "main" : rest.substr(at + 1);
  rest.resize(std::min(at, rest.size()));
  if (!is_plain_path(out.revision)) {
    refuse(spec, "bad revision");
  }
  if (rest.starts_with("datasets/")) {
    out.dataset = true;
    rest.erase(0, std::string_view("datasets/").size());
  }
  const std::vector<std::string_view> parts = split(rest, '/');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i < 2) {
      if (!is_repository_name(parts[i])) {
        refuse(spec, "bad repository name");
      }
      out.repository.append(i == 0 ? "" : "/").append(parts[i]);
    } else {
      out.file.append(i == 2 ? "" : "/").append(parts[i]);
    }
  }
  if (parts.size() > 2 && !is_plain_path(out.file)) {
    refuse(spec, "bad file name");
  }
  return out;
}

std::string repository_text(const HubSpec& spec) {
  return std::string(kScheme) + (spec.dataset ? "datasets/" : "") + spec.repository;
}

std::string to_text(const HubSpec& spec) {
  return repository_text(spec) + (spec.file.empty() ? "" : "/" + spec.file) +
         (spec.revision == "main" ? "" : "@" + spec.revision);
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_plain_path(const std::string& path) {
  const std::vector<std::string_view> parts = split(path, '/');
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    const bool plain = std::all_of(part.begin(), part.end(), [](char byte) {
      return static_cast<unsigned char>(byte) >= 0x20 && byte != '\\' && byte != 0x7F;
    });
    return plain && !part.empty() && part.size() <= 255 && part != "." && part != "..";
  });
}

}  // namespace quench
