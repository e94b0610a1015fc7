#include "run/manifest/storage_keys.hpp"

#include <nlohmann/json.hpp>

#include "core/config/amount.hpp"
#include "core/error.hpp"
#include "run/manifest/section_keys.hpp"

namespace quench {

using nlohmann::json;

namespace {

struct StorageSection {
  Problems& problems;
  ManifestStorage out;
};

void read_limit(MappingReader& reader, StorageSection& section) {
  const YamlNode* node = reader.get("limit");
  if (node == nullptr) {
    return;
  }
  section.out.limit_place = node->place;
  const auto bytes = node->is_scalar() ? parse_bytes(node->scalar) : std::nullopt;
  if (bytes && *bytes > 0) {
    section.out.limit = *bytes;
  } else {
    section.problems.add(
        node->place,
        fmt::format("storage: `limit`: got {}, wanted bytes such as 200GB", node->described()));
  }
}

void read_evict(MappingReader& reader, StorageSection& section) {
  const YamlNode* node = reader.get("evict");
  if (node == nullptr) {
    return;
  }
  const std::string text = node->is_scalar() ? node->scalar : "";
  section.out.evict = text == "done";
  if (text != "done" && text != "never") {
    section.problems.add(node->place, fmt::format("storage: `evict`: got {}, wanted done or never",
                                                  node->described()));
  }
}

const std::vector<SectionKey<StorageSection>> kKeys = {
    {"limit",
     [](const Catalog&) {
       return described(
           {{"anyOf",
             {{{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]+)?( ?[kKMGT]i?)?B?$"}},
              {{"type", "integer"}, {"minimum", 1}}}}},
           "Bytes that the run's downloads may take in the cache: 200GB, 512MiB");
     },
     read_limit},
    {"evict",
     [](const Catalog&) {
       return described({{"enum", {"done", "never"}}, {"default", "never"}},
                        "done: weights go as soon as no cell needs them");
     },
     read_evict}};

}  // namespace

json storage_schema(const Catalog& catalog) {
  json out = section_schema<StorageSection>(kKeys, catalog);
  out["type"] = json::array({"object", "null"});
  return out;
}

std::optional<ManifestStorage> read_storage(const YamlNode* node, Problems& problems) {
  if (node == nullptr || node->is_null()) {
    return std::nullopt;
  }
  StorageSection section{problems, {}};
  section.out.place = node->place;
  MappingReader reader(*node, "storage", problems);
  read_section<StorageSection>(kKeys, reader, section);
  return section.out;
}

}  // namespace quench
