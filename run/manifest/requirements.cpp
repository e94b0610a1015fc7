#include "run/manifest/requirements.hpp"

#include "core/base/config/version_range.hpp"
#include "core/error.hpp"
#include "core/version.hpp"
#include "run/manifest/fields.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr size_t kSha256Digits = 64;

void read_version(const char* key, MappingReader& reader, ManifestRequirement& out) {
  const YamlNode* node = reader.get(key);
  if (node == nullptr) {
    return;
  }
  const std::string text = reader.text(key, "");
  out.version.place = node->place;
  if (!node->is_scalar()) {
    return;
  }
  try {
    const VersionRange range(text);
    out.version.value = text;
  } catch (const Error& error) {
    reader.add(node->place, fmt::format("`{}`: {}", key, error.what()));
  }
}

void read_sha256(MappingReader& reader, ManifestRequirement& out) {
  const YamlNode* node = reader.get("sha256");
  if (node == nullptr) {
    return;
  }
  const std::string text = reader.text("sha256", "");
  const bool sound = text.size() == kSha256Digits &&
                     text.find_first_not_of("0123456789abcdef") == std::string::npos;
  out.sha256 = {sound ? text : "", node->place};
  if (node->is_scalar() && !sound) {
    reader.add(node->place, fmt::format("`sha256`: got \"{}\", wanted {} hexadecimal digits",
                                        printable(text), kSha256Digits));
  }
}

// What is asked of one plugin.
const Fields<ManifestRequirement> kPlugin([](Fields<ManifestRequirement>& f) {
  f.own("version", reference("version"), [](MappingReader& reader, ManifestRequirement& out) {
    read_version("version", reader, out);
  });
  f.own("sha256", {{"type", "string"}, {"pattern", fmt::format("^[0-9a-f]{{{}}}$", kSha256Digits)}},
        read_sha256);
});

using Requirements = std::vector<ManifestRequirement>;

void read_host(MappingReader& reader, Requirements& out) {
  ManifestRequirement host;
  host.place = reader.node().place;
  read_version("quench", reader, host);
  if (!host.version.value.empty()) {
    out.push_back(std::move(host));
  }
}

const Fields<Requirements> kRequires([](Fields<Requirements>& f) {
  f.own("quench", reference("version"), read_host);
  f.named(
      "plugins", [](Requirements & out) -> auto& { return out; }, kPlugin, "requires: plugin ");
});

}  // namespace

const Fields<std::vector<ManifestRequirement>>& requires_keys() {
  return kRequires;
}

namespace {

void check_plugin(const ManifestRequirement& wanted, const Catalog& catalog, Problems& problems) {
  std::vector<std::string> ids;
  const PluginDescription* found = nullptr;
  for (const PluginDescription& item : catalog.items()) {
    const bool same = item.id == wanted.name || item.kind + "/" + item.id == wanted.name;
    if (same && found != nullptr) {
      problems.add(wanted.place, fmt::format("requires: {} is a {} and a {}; wanted kind/id",
                                             wanted.name, found->kind, item.kind));
      return;
    }
    found = same ? &item : found;
    ids.push_back(item.id);
  }
  if (found == nullptr) {
    const std::string near = nearest(wanted.name, ids);
    problems.add(wanted.place,
                 fmt::format("requires: no plugin is called {}{}", printable(wanted.name),
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    return;
  }
  if (!wanted.version.value.empty() &&
      !VersionRange(wanted.version.value).contains(found->version)) {
    problems.add(wanted.version.place,
                 fmt::format("requires: plugin {} is {}, wanted {}", wanted.name, found->version,
                             wanted.version.value));
  }
  if (!wanted.sha256.value.empty() && wanted.sha256.value != found->sha256) {
    problems.add(wanted.sha256.place,
                 fmt::format("requires: {} has sha256 {}, wanted {}", found->library.string(),
                             found->sha256, wanted.sha256.value));
  }
}

}  // namespace

void check_requirements(const Manifest& manifest, const Catalog& catalog, Problems& problems) {
  for (const ManifestRequirement& wanted : manifest.requirements) {
    if (!wanted.name.empty()) {
      check_plugin(wanted, catalog, problems);
    } else if (!VersionRange(wanted.version.value).contains(kVersion)) {
      problems.add(wanted.version.place, fmt::format("requires: quench is {}, wanted {}", kVersion,
                                                     wanted.version.value));
    }
  }
}

}  // namespace quench
