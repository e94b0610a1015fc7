#include "run/manifest/storage_keys.hpp"

#include "core/base/config/amount.hpp"
#include "run/manifest/fields.hpp"

namespace quench {

using nlohmann::json;

namespace {

std::optional<uint64_t> some_bytes(std::string_view text) {
  const auto bytes = parse_bytes(text);
  return bytes && *bytes > 0 ? bytes : std::nullopt;
}

std::optional<bool> whether_evicted(std::string_view text) {
  return text == "done" || text == "never" ? std::optional(text == "done") : std::nullopt;
}

const Fields<ManifestStorage> kStorage([](Fields<ManifestStorage>& f) {
  f.parsed("limit", &ManifestStorage::limit, some_bytes, "bytes such as 200GB",
           {{"anyOf",
             {{{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]+)?( ?[kKMGT]i?)?B?$"}},
              {{"type", "integer"}, {"minimum", 1}}}}},
           "Bytes that the run's downloads may take in the cache: 200GB, 512MiB");
  f.parsed("evict", &ManifestStorage::evict, whether_evicted, "done or never",
           {{"enum", {"done", "never"}}, {"default", "never"}},
           "done: weights go as soon as no cell needs them");
});

}  // namespace

json storage_schema() {
  json out = kStorage.schema();
  out["type"] = json::array({"object", "null"});
  return out;
}

std::optional<ManifestStorage> read_storage(const YamlNode* node, Problems& problems) {
  if (node == nullptr || node->is_null()) {
    return std::nullopt;
  }
  ManifestStorage out = kStorage.read(*node, "storage", problems);
  out.place = node->place;
  return out;
}

}  // namespace quench
