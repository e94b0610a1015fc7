#include "tests/run/manifest_folder.hpp"

#include <catch2/catch.hpp>

#include "run/manifest/manifest_schema.hpp"
#include "run/manifest/resolve_items.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

void ManifestFolder::add_revisions(const std::string& model,
                                   const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    std::filesystem::create_directories(folder_ / model / name);
  }
}

std::vector<Experiment> ManifestFolder::resolve(const std::string& text,
                                                const std::vector<std::string>& sets) const {
  const auto file = folder_.write("m.yaml", text);
  HubEnvironment hub;
  hub.hf_hub_cache = (folder_ / "hub").string();
  std::vector<Experiment> out = resolve_manifest(load_manifest(file, sets), built_catalog(), hub);
  CAPTURE(text);
  CHECK(complaints_of_schema(text) == "");
  return out;
}

std::string complaints_of_schema(const std::string& text) {
  static const nlohmann::json kSchema = manifest_schema(built_catalog());
  return schema_complaints(kSchema, yaml_to_json(parse_yaml(text, "m.yaml")));
}

std::string ManifestFolder::problems(const std::string& text,
                                     const std::vector<std::string>& sets) const {
  std::string message = message_of([&] { resolve(text, sets); }, folder_.path());
  const std::string searched = "; looked in ";
  for (size_t at = message.find(searched); at != std::string::npos; at = message.find(searched)) {
    message.erase(at, message.find('\n', at) - at);
  }
  return message;
}

std::string with_checkpoints(const std::string& checkpoints) {
  return "checkpoints: " + checkpoints +
         "\nmetrics: [template_metric: {corpus: v}]\ncorpora: {v: {template_corpus: {}}}\n";
}

}  // namespace quench::test
