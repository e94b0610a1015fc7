#include "run/manifest/requirements.hpp"

#include "core/config/version_range.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kSha256Digits = 64;

void read_version(MappingReader& reader, const std::string& key, const std::string& where,
                  ManifestRequirement& out, Problems& problems) {
  const YamlNode* node = reader.get(key);
  if (node == nullptr) {
    return;
  }
  out.version_place = node->place;
  const std::string text = reader.text(key, "");
  if (!node->is_scalar()) {
    return;
  }
  try {
    const VersionRange range(text);
    out.version = text;
  } catch (const Error& error) {
    problems.add(node->place, fmt::format("{}: `{}`: {}", where, key, error.what()));
  }
}

ManifestRequirement read_plugin(const YamlNode::Member& member, Problems& problems) {
  const std::string where = "requires: plugin " + printable(member.key);
  ManifestRequirement out;
  out.plugin = member.key;
  out.place = member.key_place;
  MappingReader reader(member.value, where, problems);
  read_version(reader, "version", where, out, problems);
  if (const YamlNode* sha256 = reader.get("sha256")) {
    const std::string text = reader.text("sha256", "");
    const bool sound = text.size() == kSha256Digits &&
                       text.find_first_not_of("0123456789abcdef") == std::string::npos;
    out.sha256 = sound ? text : "";
    out.sha256_place = sha256->place;
    if (sha256->is_scalar() && !sound) {
      problems.add(sha256->place,
                   fmt::format("{}: `sha256`: got \"{}\", wanted {} hexadecimal digits", where,
                               printable(text), kSha256Digits));
    }
  }
  reader.finish();
  return out;
}

}  // namespace

std::vector<ManifestRequirement> read_requirements(const YamlNode* node, Problems& problems) {
  std::vector<ManifestRequirement> out;
  if (node == nullptr || node->is_null()) {
    return out;
  }
  MappingReader reader(*node, "requires", problems);
  ManifestRequirement host;
  host.place = node->place;
  read_version(reader, "quench", "requires", host, problems);
  if (!host.version.empty()) {
    out.push_back(host);
  }
  if (const YamlNode* plugins = reader.get("plugins")) {
    if (!plugins->is_mapping()) {
      problems.add(plugins->place, fmt::format("requires: plugins: got {}, wanted a mapping of ids",
                                               plugins->described()));
    }
    for (const YamlNode::Member& member : plugins->members) {
      out.push_back(read_plugin(member, problems));
    }
  }
  reader.finish();
  return out;
}

}  // namespace quench
