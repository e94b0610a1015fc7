#include "run/manifest/requirements.hpp"

#include "core/config/version_range.hpp"
#include "core/error.hpp"
#include "run/manifest/section_keys.hpp"
#include "run/manifest/section_schemas.hpp"

namespace quench {

namespace {

using nlohmann::json;

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

// What is asked of one plugin, or of quench, while it is read.
struct RequirementEntry {
  std::string where;
  Problems& problems;
  ManifestRequirement out;
};

void read_sha256(MappingReader& reader, RequirementEntry& entry) {
  const YamlNode* node = reader.get("sha256");
  if (node == nullptr) {
    return;
  }
  const std::string text = reader.text("sha256", "");
  const bool sound = text.size() == kSha256Digits &&
                     text.find_first_not_of("0123456789abcdef") == std::string::npos;
  entry.out.sha256 = sound ? text : "";
  entry.out.sha256_place = node->place;
  if (node->is_scalar() && !sound) {
    entry.problems.add(node->place,
                       fmt::format("{}: `sha256`: got \"{}\", wanted {} hexadecimal digits",
                                   entry.where, printable(text), kSha256Digits));
  }
}

const std::vector<SectionKey<RequirementEntry>> kPluginKeys = {
    {"version", [](const Catalog&) { return reference("version"); },
     [](MappingReader& reader, RequirementEntry& entry) {
       read_version(reader, "version", entry.where, entry.out, entry.problems);
     }},
    {"sha256",
     [](const Catalog&) {
       return json{{"type", "string"}, {"pattern", fmt::format("^[0-9a-f]{{{}}}$", kSha256Digits)}};
     },
     read_sha256}};

ManifestRequirement read_plugin(const YamlNode::Member& member, Problems& problems) {
  RequirementEntry entry{"requires: plugin " + printable(member.key), problems, {}};
  entry.out.plugin = member.key;
  entry.out.place = member.key_place;
  MappingReader reader(member.value, entry.where, problems);
  read_section<RequirementEntry>(kPluginKeys, reader, entry);
  return std::move(entry.out);
}

// The whole section.
struct RequiresEntry {
  Place place;
  Problems& problems;
  std::vector<ManifestRequirement> out;
};

void read_host(MappingReader& reader, RequiresEntry& entry) {
  ManifestRequirement host;
  host.place = entry.place;
  read_version(reader, "quench", "requires", host, entry.problems);
  if (!host.version.empty()) {
    entry.out.push_back(host);
  }
}

void read_plugins(MappingReader& reader, RequiresEntry& entry) {
  const YamlNode* plugins = reader.get("plugins");
  if (plugins == nullptr) {
    return;
  }
  if (!plugins->is_mapping()) {
    entry.problems.add(
        plugins->place,
        fmt::format("requires: plugins: got {}, wanted a mapping of ids", plugins->described()));
  }
  for (const YamlNode::Member& member : plugins->members) {
    entry.out.push_back(read_plugin(member, entry.problems));
  }
}

const std::vector<SectionKey<RequiresEntry>> kRequiresKeys = {
    {"quench", [](const Catalog&) { return reference("version"); }, read_host},
    {"plugins",
     [](const Catalog& catalog) {
       return json{
           {"type", "object"},
           {"additionalProperties", section_schema<RequirementEntry>(kPluginKeys, catalog)}};
     },
     read_plugins}};

}  // namespace

std::vector<ManifestRequirement> read_requirements(const YamlNode* node, Problems& problems) {
  if (node == nullptr || node->is_null()) {
    return {};
  }
  MappingReader reader(*node, "requires", problems);
  RequiresEntry entry{node->place, problems, {}};
  read_section<RequiresEntry>(kRequiresKeys, reader, entry);
  return std::move(entry.out);
}

json requires_schema(const Catalog& catalog) {
  return section_schema<RequiresEntry>(kRequiresKeys, catalog);
}

}  // namespace quench
