// The examples of docs/configuration.md are manifests, and the page knows every key there is.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "run/manifest/manifest.hpp"
#include "tests/layering/source_tree.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/json_schema.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using nlohmann::json;

namespace {

const json& schema() {
  static const json kSchema = [] {
    const auto printed = quench::test::run_program(
        {QUENCH_PROGRAM, "schema"},
        {{"QUENCH_HOME", (quench::test::binary_dir() / "tests/quench-home").string()}},
        quench::test::binary_dir());
    REQUIRE(printed.code == 0);
    return json::parse(printed.out);
  }();
  return kSchema;
}

// The page's blocks of YAML; to one that shows a part, the sections that every manifest has are
// added.
std::vector<std::string> examples() {
  std::vector<std::string> out;
  std::istringstream lines(quench::test::source("docs/configuration.md"));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = line == "```yaml";
      if (inside) {
        out.emplace_back();
      }
    } else if (inside) {
      out.back() += line + "\n";
    }
  }
  for (std::string& text : out) {
    const auto add = [&](const std::string& section, const std::string& rest) {
      if (("\n" + text).find("\n" + section + ":") == std::string::npos) {
        text += section + ": " + rest + "\n";
      }
    };
    add("checkpoints", "{model: m}");
    add("metrics", "[validation_loss: {corpus: held_out}]");
  }
  return out;
}

// Names of the properties of a schema and of all that it is made of.
void collect_keys(const json& node, std::vector<std::string>& keys) {
  if (node.is_array()) {
    for (const json& element : node) {
      collect_keys(element, keys);
    }
  }
  if (!node.is_object()) {
    return;
  }
  for (const auto& [name, value] : node.items()) {
    if (name == "properties" && value.is_object()) {
      for (const auto& [key, inner] : value.items()) {
        keys.push_back(key);
        collect_keys(inner, keys);
      }
    } else {
      collect_keys(value, keys);
    }
  }
}

}  // namespace

TEST_CASE("configuration page: every example is a manifest", "[layering][configs]") {
  const auto found = examples();
  CHECK(found.size() >= 9);
  for (const std::string& text : found) {
    CAPTURE(text);
    const quench::test::TemporaryDir folder;
    const auto file = folder.write("m.yaml", text);
    quench::Manifest manifest;
    CHECK(quench::test::message_of([&] {
            manifest = quench::load_manifest(file, {});
            manifest.problems.throw_if_any();
            for (size_t point = 0; point < manifest.sweep.size(); ++point) {
              quench::manifest_at(manifest, point).problems.throw_if_any();
            }
          }) == "");
    CHECK(quench::test::schema_complaints(schema(), quench::yaml_to_json(manifest.resolved)) == "");
  }
}

TEST_CASE("configuration page: it explains every key of the schema", "[layering][configs]") {
  const std::string page = quench::test::source("docs/configuration.md");
  for (const char* section : {"requires", "checkpoints", "calibration", "sweep", "seed", "dtype",
                              "device", "name", "report"}) {
    CHECK(schema().at("properties").contains(section));
  }
  std::vector<std::string> keys;
  for (const char* section : {"requires", "checkpoints", "calibration", "cluster"}) {
    collect_keys(schema().at("properties").at(section), keys);
  }
  for (const auto& [section, unused] : schema().at("properties").items()) {
    keys.push_back(section);
  }
  CHECK(keys.size() >= 40);
  for (const std::string& key : keys) {
    CAPTURE(key);
    const bool explained = page.find("`" + key + "`") != std::string::npos ||
                           page.find("`{" + key + ":") != std::string::npos ||
                           page.find(", " + key + ": count}`") != std::string::npos ||
                           page.find(key + ": {version:") != std::string::npos ||
                           page.find("{" + key + ": \"") != std::string::npos ||
                           page.find("  " + key + ":") != std::string::npos;
    CHECK(explained);
  }
}
