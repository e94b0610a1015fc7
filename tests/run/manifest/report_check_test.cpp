#include "run/manifest/report_check.hpp"

#include <catch2/catch.hpp>

#include "core/base/config/yaml.hpp"
#include "tests/run/manifest_folder.hpp"
#include "tests/support/throws.hpp"

using nlohmann::json;
using quench::test::message_of;

namespace {

const quench::YamlNode kSection = quench::parse_yaml(
    "figures:\n"
    "  - table\n"
    "  - bars: {lines: brunch}\n"
    "contrasts:\n"
    "  - {a: x, b: y}\n",
    "m.yaml");

json fault(json path, bool of_key) {
  return {{"path", std::move(path)}, {"of_key", of_key}, {"text", "wrong"}};
}

// The problems that the answer to a check of kSection makes.
std::string problems_told(const json& answer) {
  quench::Problems problems;
  check_report(
      kSection, {}, [&](const json&) { return answer; }, problems);
  return message_of([&] { problems.throw_if_any(); });
}

}  // namespace

TEST_CASE("report check: a fault is told at what its path leads to", "[core][run]") {
  const auto [path, of_key, place] = GENERATE(table<json, bool, std::string>({
      {json::array(), false, "m.yaml:1:1"},
      {{"figures", 1, "bars", "lines"}, false, "m.yaml:3:19"},
      {{"figures", 1, "bars", "lines"}, true, "m.yaml:3:12"},
      {{"figures", 0}, false, "m.yaml:2:5"},
      {{"contrasts", 0, "b"}, false, "m.yaml:5:15"},
      {{"contrasts", 0, "of"}, false, "m.yaml:5:5"},  // not there: the last thing on the way
      {{"contrasts", 7, "a"}, false, "m.yaml:5:3"},
  }));
  CAPTURE(path);
  CHECK(problems_told({{"faults", {fault(path, of_key)}}, {"warnings", json::array()}}) ==
        place + ": wrong");
}

TEST_CASE("report check: a warning is no problem, and nobody to ask is none", "[core][run]") {
  quench::Problems problems;
  const json answer = {{"faults", json::array()}, {"warnings", {fault({"contrasts", 0}, false)}}};
  CHECK(check_report(
            kSection, {}, [&](const json&) { return answer; }, problems) ==
        std::vector<std::string>{"m.yaml:5:5: wrong"});
  CHECK(check_report(
            kSection, {}, [](const json&) { return json(); }, problems)
            .empty());
  CHECK(check_report(kSection, {}, nullptr, problems).empty());
  CHECK(problems.empty());
}

TEST_CASE("report check: the section is asked about, and the cells of a sound manifest",
          "[core][run]") {
  quench::test::ManifestFolder here;
  here.add_revisions("run", {"step10", "step20"});
  const std::vector<quench::Experiment> experiments = here.resolve(
      "checkpoints: {model: run, revisions: \"step{step}\"}\n"
      "averaging: [template_averaging: {window: 2}]\n"
      "quantizers: [template_quantizer: {bits: [3, 4]}]\n"
      "metrics: [template_metric: {corpus: v}]\ncorpora: {v: {template_corpus: {}}}\n");
  json asked;
  quench::Problems problems;
  const quench::AskReport ask = [&](const json& question) {
    asked = question;
    return json();
  };
  check_report(kSection, experiments, ask, problems);
  CHECK(asked.at("report") == yaml_to_json(kSection));
  REQUIRE(asked.at("experiments").size() == 1);
  const json& cells = asked.at("experiments")[0];
  CHECK(cells.at("checkpoints")[1].at("step") == 20);
  CHECK(cells.at("quantizers")[0].at("label") == "template_quantizer bits=3");
  CHECK(cells.at("averagings")[0].at("id") == "template_averaging");
  REQUIRE(cells.at("weights").size() == 3);
  CHECK(cells.at("weights")[0].at("line") == -1);
  CHECK(cells.at("weights")[2].at("averaging").at("members").size() == 2);
  CHECK(cells.at("metrics")[0].at("id") == "template_metric");

  problems.add(kSection.place, "something else");
  check_report(kSection, experiments, ask, problems);
  CHECK(asked.at("experiments").is_null());
}
