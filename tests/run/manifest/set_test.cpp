#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/base/config/yaml_path.hpp"
#include "tests/support/throws.hpp"

using quench::YamlNode;

namespace {

nlohmann::json changed(const std::string& change) {
  YamlNode root = quench::parse_yaml("a: {b: 1, c: [1, 2]}\nd: ~\ne: text\nf: []\n", "m.yaml");
  quench::yaml_change(root, change, "--set #1");
  return quench::yaml_to_json(root);
}

std::string refusal(const std::string& change) {
  return quench::test::message_of([&] { changed(change); });
}

}  // namespace

TEST_CASE("set option: replaces, adds and makes mappings on the way", "[config]") {
  CHECK(changed("a.b=2")["a"]["b"] == 2);
  CHECK(changed("a.new=[1, x]")["a"]["new"] == nlohmann::json({1, "x"}));
  CHECK(changed("a.c=3")["a"]["c"] == 3);
  CHECK(changed("x.y.z={k: v}")["x"]["y"]["z"]["k"] == "v");
  CHECK(changed("d.under=1")["d"]["under"] == 1);
  CHECK(changed("a=gone")["a"] == "gone");
}

TEST_CASE("set option: the value is YAML: quoting makes text, nothing makes null", "[config]") {
  CHECK(changed("e=3")["e"] == 3);
  CHECK(changed("e=\"3\"")["e"] == "3");
  CHECK(changed("e=010")["e"] == "010");
  CHECK(changed("e=a=b")["e"] == "a=b");
  CHECK(changed("e=").at("e").is_null());
  CHECK(changed("e=  ").at("e").is_null());
}

TEST_CASE("set option: a list is changed by index, and += appends to it", "[config]") {
  CHECK(changed("a.c.1=5")["a"]["c"] == nlohmann::json({1, 5}));
  CHECK(changed("a.c+=3")["a"]["c"] == nlohmann::json({1, 2, 3}));
  CHECK(changed("a.c+=[3, 4]")["a"]["c"] == nlohmann::json({1, 2, 3, 4}));
  CHECK(changed("a.c+={k: v}")["a"]["c"][2]["k"] == "v");
  CHECK(changed("d+=1")["d"] == nlohmann::json({1}));
  CHECK(changed("new+=1")["new"] == nlohmann::json({1}));
}

TEST_CASE("set option: a key with dots is found by all of it", "[config]") {
  YamlNode root = quench::parse_yaml("sweep: {train.lr.peak: [1], train: {seed: [2]}}\n", "m.yaml");
  quench::yaml_change(root, "sweep.train.lr.peak=[3]", "--set #1");
  quench::yaml_change(root, "sweep.train.seed=[4]", "--set #2");
  quench::yaml_change(root, "sweep.train.lr.peak.0=5", "--set #3");
  CHECK(quench::yaml_to_json(root)["sweep"] ==
        nlohmann::json::parse(R"({"train.lr.peak": [5], "train": {"seed": [4]}})"));
}

TEST_CASE("set option: an entry of a list is found by its id", "[config]") {
  const auto of_list = [](const std::string& change) {
    YamlNode root = quench::parse_yaml(
        "q:\n  - rtn: {bits: 3}\n  - gptq: {bits: 3}\n    calibration: few\n  - hqq:\n  - rtn: "
        "{bits: 4}\n",
        "m.yaml");
    quench::yaml_change(root, change, "--set #1");
    return quench::yaml_to_json(root)["q"];
  };
  CHECK(of_list("q.gptq.bits=4")[1]["gptq"]["bits"] == 4);
  CHECK(of_list("q.gptq.bits=4")[1]["calibration"] == "few");
  CHECK(of_list("q.hqq.bits=4")[2]["hqq"]["bits"] == 4);
  CHECK(quench::test::message_of([&] { of_list("q.rtn.bits=4"); }) ==
        "--set #1: `q.rtn.bits`: `rtn` leads into a list with 2 of that name, wanted an index: 0, "
        "3");
  CHECK(quench::test::message_of([&] { of_list("q.awq.bits=4"); }) ==
        "--set #1: `q.awq.bits`: `awq` leads into a list of 4, wanted an index of 0..3 or one of "
        "rtn, gptq, hqq, rtn");
}

TEST_CASE("set option: what does not fit is refused with its number and path", "[config]") {
  CHECK(refusal("a.c.2=1") ==
        "--set #1: `a.c.2`: `2` leads into a list of 2, wanted an index of 0..1");
  CHECK(refusal("a.c.x=1") ==
        "--set #1: `a.c.x`: `x` leads into a list of 2, wanted an index of 0..1");
  CHECK(refusal("f.0=1") == "--set #1: `f.0`: `0` leads into an empty list");
  CHECK(refusal("e.f=1") == "--set #1: `e.f` leads into the text \"text\"; wanted a mapping");
  CHECK(refusal("a..b=1") == "--set #1: empty key in `a..b`; wanted keys with dots between");
  CHECK(refusal("a.=1") == "--set #1: empty key in `a.`; wanted keys with dots between");
  CHECK(refusal("a.b+=1") == "--set #1: `a.b` is the number 1; `+=` wants a list");
  CHECK(refusal("+=1") == "--set #1: got `+=1`, wanted a.b=value or a.b+=value");
  CHECK(refusal("a") == "--set #1: got `a`, wanted a.b=value or a.b+=value");
  CHECK(refusal("e=[1") ==
        "--set #1:1:1: a key must be a word or a number (or a bracket is not closed)");
  CHECK(refusal("e=&x 1") ==
        "--set #1:1:1: anchors (&name) are not supported here; write the value out");
}

TEST_CASE("set option: what it puts there is placed at the option", "[config]") {
  YamlNode root = quench::parse_yaml("a: 1", "m.yaml");
  quench::yaml_change(root, "b={c: [1]}", "--set #3");
  CHECK(root.find("b")->place.text() == "--set #3");
  CHECK(root.find("b")->members[0].key_place.text() == "--set #3");
  CHECK(root.find("b")->find("c")->items[0].place.text() == "--set #3");
}
