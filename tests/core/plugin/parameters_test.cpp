#include "core/plugin/catalog/parameters.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "quench/abi/parameter.h"

using nlohmann::json;
using quench::ParameterProblem;
using quench::ParameterSchema;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

quench::PluginDescription description() {
  quench::PluginDescription item;
  item.kind = "quantizer";
  item.id = "gptq";
  item.parameters = {
      {"bits", QUENCH_PARAMETER_INTEGER, json(4), 2, 8, {}, "width of a code"},
      {"damp", QUENCH_PARAMETER_NUMBER, json(0.01), 0, kInfinity, {}, "share of the diagonal"},
      {"clip", QUENCH_PARAMETER_NUMBER, json(nullptr), -kInfinity, 1, {}, "clipping"},
      {"order", QUENCH_PARAMETER_CHOICE, json("given"), 0, 0, {"given", "diagonal"}, "of columns"},
      {"betas", QUENCH_PARAMETER_NUMBER_LIST, json::array({0.9, 0.95}), 0, 1, {}, "decay"},
      {"fast", QUENCH_PARAMETER_BOOLEAN, json(false), 0, 0, {}, "hurry"},
      {"text", QUENCH_PARAMETER_CORPUS, std::nullopt, 0, 0, {}, "what to read"}};
  return item;
}

std::vector<std::string> messages(const json& given) {
  std::vector<ParameterProblem> problems;
  quench::complete_parameters(description(), given, problems);
  std::vector<std::string> found;
  for (const ParameterProblem& problem : problems) {
    found.push_back(problem.message);
  }
  return found;
}

using Messages = std::vector<std::string>;

}  // namespace

TEST_CASE("parameters: defaults are filled in and numbers have one form", "[core][plugin]") {
  std::vector<ParameterProblem> problems;
  const json complete = quench::complete_parameters(
      description(), json::parse(R"({"text": "c4", "damp": 1, "betas": [0, 1]})"), problems);
  CHECK(problems.empty());
  CHECK(complete.dump() ==
        R"({"betas":[0.0,1.0],"bits":4,"clip":null,"damp":1.0,"fast":false,"order":"given",)"
        R"("text":"c4"})");
}

TEST_CASE("parameters: a preset stands in for defaults, not for what is given", "[core][plugin]") {
  quench::PluginDescription item = description();
  item.parameters.push_back(
      {"preset", QUENCH_PARAMETER_CHOICE, json("none"), 0, 0, {"none", "old"}, "a set"});
  item.presets = {{"old", {{"damp", 0.05}, {"order", "diagonal"}}}};
  CHECK(quench::find_fault({item}).empty());
  const auto complete = [&](json given) {
    given["text"] = "c4";
    std::vector<ParameterProblem> problems;
    json out = quench::complete_parameters(item, given, problems);
    CHECK(problems.empty());
    return out;
  };
  CHECK(complete({{"preset", "none"}})["damp"] == 0.01);
  CHECK(complete({{"preset", "old"}})["damp"] == 0.05);
  CHECK(complete({{"preset", "old"}})["order"] == "diagonal");
  CHECK(complete({{"preset", "old"}})["bits"] == 4);
  CHECK(complete({{"preset", "old"}, {"damp", 0.01}})["damp"] == 0.01);
  CHECK(quench::items_from_json(quench::items_to_json({item})).front().presets == item.presets);

  item.presets = {{"new", {{"damp", 0.05}}}};
  CHECK_THAT(quench::find_fault({item}), Catch::Contains("preset new: is no choice"));
  item.presets = {{"old", {{"dump", 0.05}}}};
  CHECK_THAT(quench::find_fault({item}), Catch::Contains("preset old: dump is no parameter"));
  item.presets = {{"old", {{"bits", 9}}}};
  CHECK_THAT(quench::find_fault({item}), Catch::Contains("preset old: bits: got 9"));
}

TEST_CASE("parameters: each problem is named, all at once", "[core][plugin]") {
  CHECK(messages({{"text", "c4"}, {"bits", 9}}) == Messages{"bits: got 9, wanted 2..8"});
  CHECK(messages({{"text", "c4"}, {"bits", 3.0}}) == Messages{"bits: got 3.0, wanted an integer"});
  CHECK(messages({{"text", "c4"}, {"bits", "4"}}) ==
        Messages{"bits: got \"4\", wanted an integer"});
  CHECK(messages({{"text", "c4"}, {"bits", "4k"}}) ==
        Messages{"bits: got \"4k\", wanted an integer without a unit: width of a code"});
  CHECK(messages({{"text", "c4"}, {"bits", nullptr}}) ==
        Messages{"bits: got null, wanted an integer"});
  CHECK(messages({{"text", "c4"}, {"bits", uint64_t{1} << 63}}) ==
        Messages{"bits: got 9223372036854775808, wanted an integer"});
  CHECK(messages({{"text", "c4"}, {"damp", -1}}) == Messages{"damp: got -1, wanted at least 0"});
  CHECK(messages({{"text", "c4"}, {"clip", 2}}) == Messages{"clip: got 2, wanted at most 1"});
  CHECK(messages({{"text", "c4"}, {"clip", nullptr}}).empty());
  CHECK(messages({{"text", "c4"}, {"order", "diagnal"}}) ==
        Messages{"order: got diagnal, wanted one of given, diagonal; did you mean diagonal?"});
  CHECK(messages({{"text", "c4"}, {"betas", {0.5, 1.5}}}) ==
        Messages{"betas[1]: got 1.5, wanted 0..1"});
  CHECK(messages({{"text", "c4"}, {"betas", 0.5}}) ==
        Messages{"betas: got 0.5, wanted a list, each element a number"});
  CHECK(messages({{"text", "c4"}, {"fast", 1}}) == Messages{"fast: got 1, wanted true or false"});
  CHECK(messages(json::object()) == Messages{"text: required and not given: what to read"});
  CHECK(messages({{"text", "c4"}, {"bit", 4}}) ==
        Messages{"bit: unknown parameter of quantizer gptq; did you mean bits?"});
  CHECK(messages(json::array()).front() ==
        "parameters of quantizer gptq: got an empty list, wanted an object");
  CHECK(messages({{"bits", 9}, {"fast", 1}, {"zzzzzzzz", 1}}).size() == 4);
}

TEST_CASE("parameters: a value nested without end is refused, not followed", "[core][plugin]") {
  json deep = 1;
  for (int i = 0; i < 5000; ++i) {
    json outer = json::array();
    outer.push_back(std::move(deep));
    deep = std::move(outer);
  }
  json given = {{"text", "c4"}};
  given["bits"] = std::move(deep);
  CHECK(messages(given) == Messages{"bits: got a list, wanted an integer"});
}

TEST_CASE("inline form: id, keys and values are split", "[core][plugin]") {
  const auto spec = quench::parse_inline("gptq:bits=4,text=/a:b=c");
  CHECK(spec.id == "gptq");
  REQUIRE(spec.options.size() == 2);
  CHECK(spec.options[1] == std::pair<std::string, std::string>{"text", "/a:b=c"});
  using Options = std::vector<std::pair<std::string, std::string>>;
  for (const char* text :
       {"rtn bits=4  path=hf://a", "rtn bits=4, path=hf://a", "rtn : bits=4,path=hf://a"}) {
    INFO(text);
    CHECK(quench::parse_inline(text).id == "rtn");
    CHECK(quench::parse_inline(text).options == Options{{"bits", "4"}, {"path", "hf://a"}});
  }
  CHECK_THROWS_WITH(quench::parse_inline("gptq bits=4 + smoothquant"),
                    "\"gptq bits=4 + smoothquant\": option \"+\": wanted key=value, as in "
                    "id:key=value,key=value");
  CHECK(quench::parse_inline("rtn").options.empty());
  CHECK(quench::parse_inline("rtn:").options.empty());
  for (const char* bad : {"", ":bits=4", "gptq:bits", "gptq:=4", "gptq:bits=4,", "gptq:,bits=4",
                          "gptq:bits=4,bits=5"}) {
    INFO(bad);
    CHECK_THROWS_AS(quench::parse_inline(bad), quench::Error);
  }
}

TEST_CASE("inline form: blanks around ids, keys and values are left out", "[core][plugin]") {
  const auto spec = quench::parse_inline(" gptq: bits = 4, text=a b.txt ,seed=1 ");
  CHECK(spec.id == "gptq");
  CHECK(spec.options == std::vector<std::pair<std::string, std::string>>{
                            {"bits", "4"}, {"text", "a b.txt"}, {"seed", "1"}});
  CHECK_THROWS_AS(quench::parse_inline("gptq:bits=4, "), quench::Error);
}

TEST_CASE("inline form: values are read by the schema's type", "[core][plugin]") {
  const auto item = description();
  const auto option = [&](size_t index, const char* text) {
    return quench::parse_option(item.parameters[index], text);
  };
  CHECK(option(0, "3") == 3);
  CHECK(option(0, "3").is_number_integer());
  CHECK(option(1, "1e-3") == 0.001);
  CHECK(option(2, "null").is_null());
  CHECK(option(4, "0.9+0.95") == json::array({0.9, 0.95}));
  CHECK(option(4, "1e+2+1E-3") == json::array({100.0, 0.001}));
  CHECK(option(4, "") == json::array());
  CHECK(option(5, "true") == true);
  CHECK(option(6, "c4") == "c4");
  CHECK_THROWS_WITH(option(0, "3.5"), "bits: got 3.5, wanted an integer");
  CHECK_THROWS_WITH(option(0, ""), "bits: got nothing, wanted an integer");
  CHECK_THROWS_WITH(option(1, "nan"), "damp: got nan, wanted a number");
  CHECK_THROWS_WITH(option(5, "yes"), "fast: got yes, wanted true or false");
  CHECK_THROWS_WITH(option(4, "0.9+"), "betas: got nothing, wanted a number");
  CHECK_THROWS_WITH(option(0, "null"), "bits: got null, wanted an integer");
}
