#include "run/manifest/manifest_schema.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/run/manifest/wrong_manifests.hpp"

using nlohmann::json;

TEST_CASE("schema: it refuses what the table of wrong manifests says, and nothing else",
          "[core][run]") {
  size_t refused = 0;
  for (const quench::test::WrongManifest& wrong : quench::test::wrong_manifests()) {
    CAPTURE(wrong.title);
    try {
      const std::string complaints = quench::test::complaints_of_schema(wrong.text);
      CAPTURE(complaints);
      CHECK(wrong.refused_by_schema == !complaints.empty());
      refused += complaints.empty() ? 0 : 1;
    } catch (const quench::Error&) {  // no YAML
      CHECK_FALSE(wrong.refused_by_schema);
    }
  }
  CHECK(refused >= 70);
}

TEST_CASE("schema: it is one whatever plugins there are", "[core][run]") {
  const json all = quench::manifest_schema(quench::test::built_catalog());
  const quench::Catalog none(quench::CatalogOptions{{}, "", "", 20});
  const json bare = quench::manifest_schema(none);
  for (const auto& [section, schema] : all.at("properties").items()) {
    INFO(section);
    CHECK(bare.at("properties").contains(section));
  }
  const json& metrics = bare.at("properties").at("metrics");
  CHECK(metrics.at("items") == false);  // no plugin, no entry
  const json& entry = all.at("properties").at("quantizers").at("items").at("anyOf").at(0);
  for (const char* key : {"label", "calibration", "replicates", "export", "transform"}) {
    CHECK(entry.at("properties").at(key).contains("description"));
  }
}

TEST_CASE("schema: a plugin's parameters come with ranges, defaults and meanings", "[core][run]") {
  const auto& plugin = quench::test::built_catalog().require("quantizer", "template_quantizer");
  const json schema = quench::parameters_schema(plugin);
  const json& bits = schema.at("properties").at("bits");
  CHECK(bits.at("description") == "bits per code");
  CHECK(bits.at("anyOf").at(0) == json{{"type", "integer"}, {"minimum", 2}, {"maximum", 8}});
  CHECK(bits.at("anyOf").at(1).at("type") == "array");
  CHECK(bits.contains("default"));
  CHECK(schema.at("additionalProperties") == false);
  const auto& metric = quench::test::built_catalog().require("metric", "template_metric");
  CHECK(quench::parameters_schema(metric).at("required") == json::array({"corpus"}));
}
