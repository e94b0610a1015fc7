#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/config/yaml.hpp"
#include "tests/support/throws.hpp"

using quench::YamlNode;

namespace {

nlohmann::json after_set(const std::string& path, const std::string& value) {
  YamlNode root = quench::parse_yaml("a: {b: 1, c: [1, 2]}\nd: ~\ne: text\n", "m.yaml");
  quench::yaml_set(root, path, value, "--set " + path);
  return quench::yaml_to_json(root);
}

std::string refusal(const std::string& path, const std::string& value) {
  return quench::test::message_of([&] { after_set(path, value); });
}

}  // namespace

TEST_CASE("yaml_set: replaces, adds and makes mappings on the way", "[config]") {
  CHECK(after_set("a.b", "2")["a"]["b"] == 2);
  CHECK(after_set("a.new", "[1, x]")["a"]["new"] == nlohmann::json({1, "x"}));
  CHECK(after_set("a.c", "3")["a"]["c"] == 3);
  CHECK(after_set("x.y.z", "{k: v}")["x"]["y"]["z"]["k"] == "v");
  CHECK(after_set("d.under", "1")["d"]["under"] == 1);
  CHECK(after_set("a", "gone")["a"] == "gone");
}

TEST_CASE("yaml_set: the value is YAML: quoting makes text, nothing makes null", "[config]") {
  CHECK(after_set("e", "3")["e"] == 3);
  CHECK(after_set("e", "\"3\"")["e"] == "3");
  CHECK(after_set("e", "010")["e"] == "010");
  CHECK(after_set("e", "a=b")["e"] == "a=b");
  CHECK(after_set("e", "").at("e").is_null());
  CHECK(after_set("e", "  ").at("e").is_null());
}

TEST_CASE("yaml_set: what does not fit is refused with its path", "[config]") {
  CHECK(refusal("a.c.0", "1") == "--set a.c.0: `a.c.0` leads into a list; wanted a mapping");
  CHECK(refusal("e.f", "1") == "--set e.f: `e.f` leads into the text \"text\"; wanted a mapping");
  CHECK(refusal("a..b", "1") == "--set a..b: empty key in `a..b`; wanted a.b=value");
  CHECK(refusal("a.", "1") == "--set a.: empty key in `a.`; wanted a.b=value");
  CHECK(refusal("e", "[1") ==
        "--set e:1:1: a key must be a word or a number (or a bracket is not closed)");
  CHECK(refusal("e", "&x 1") ==
        "--set e:1:1: anchors (&name) are not supported here; write the value out");
}

TEST_CASE("yaml_set: what it puts there is placed at the option", "[config]") {
  YamlNode root = quench::parse_yaml("a: 1", "m.yaml");
  quench::yaml_set(root, "b", "{c: [1]}", "--set b");
  CHECK(root.find("b")->place.text() == "--set b");
  CHECK(root.find("b")->members[0].key_place.text() == "--set b");
  CHECK(root.find("b")->find("c")->items[0].place.text() == "--set b");
}
