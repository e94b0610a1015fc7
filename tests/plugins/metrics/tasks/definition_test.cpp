#include "metrics/tasks/definition.hpp"

#include <catch2/catch.hpp>

#include "tests/support/test_host.hpp"

using quench::tasks::Definition;
using quench::tasks::definitions_of;
using quench::tasks::Question;
using quench::tasks::Value;

namespace {

quench::kit::Json json(const std::string& text) {
  return {text.data(), text.size()};
}

const std::string kTask = R"("task": "t", "splits": ["test"], "data": {"paths": ["p"]},
  "scores": ["acc"], "answer": "{{a}}")";

std::string refusal(const std::string& text) {
  try {
    definitions_of(json(text), "f.yaml");
    return "";
  } catch (const quench::kit::Error& error) {
    return error.what();
  }
}

Question question(const std::string& rest, const std::string& record) {
  const Definition task = definitions_of(json("{" + kTask + "," + rest + "}"), "f.yaml").at(0);
  return question_of(task, Value::of(json(record)));
}

}  // namespace

TEST_CASE("task file: a record becomes a question with its answer", "[metrics][tasks]") {
  const Question made = question(R"("prompt": "Q: {{q}}\nA:", "choices": "{{c}}")",
                                 R"({"q": "why", "c": ["x", "y"], "a": 1})");
  CHECK(made.prompt == "Q: why\nA:");
  CHECK(made.choices == std::vector<std::string>{"x", "y"});
  CHECK(made.answer == 1);
  CHECK(shot_of(made) == "Q: why\nA: y\n\n");
}

TEST_CASE("task file: an answer may be the text of a choice", "[metrics][tasks]") {
  const Question made = question(R"("prompt": "{{q}}", "choices": ["yes", "no", "maybe"])",
                                 R"({"q": "why", "a": "maybe"})");
  CHECK(made.answer == 2);
  CHECK_THROWS_WITH(
      question(R"("prompt": "{{q}}", "choices": ["yes", "no"])", R"({"q": "why", "a": "perhaps"})"),
      "answer: got perhaps, there are 2 choices");
  CHECK_THROWS_WITH(
      question(R"("prompt": "{{q}}", "choices": ["yes", "no"])", R"({"q": "why", "a": 2})"),
      "answer: got 2, there are 2 choices");
}

TEST_CASE("task file: choices may stand in the context", "[metrics][tasks]") {
  const Question made = question(R"("contexts": "{{[s + x, s + y]}}", "continuation": "{{r}}")",
                                 R"({"s": "the ", "x": "cat", "y": "dog", "r": "sat.", "a": 0})");
  CHECK(made.choices == std::vector<std::string>{"the cat", "the dog"});
  CHECK(made.continuation == "sat.");
  CHECK(shot_of(made) == "the cat sat.\n\n");
}

TEST_CASE("task file: `each` makes one task for every value", "[metrics][tasks]") {
  const auto tasks = definitions_of(
      json(R"({"group": "g", "each": {"s": ["a_b", "c"]}, "task": "g_{{s}}", "splits": ["test"],
               "data": {"paths": ["g/{{s}}"]}, "description": "About {{s.replace('_', ' ')}}.",
               "prompt": "{{q}}", "choices": ["A"], "answer": "{{a}}", "scores": ["acc"]})"),
      "f.yaml");
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[0].name == "g_a_b");
  CHECK(tasks[0].data.paths == std::vector<std::string>{"g/a_b"});
  CHECK(tasks[0].description == "About a b.");
  CHECK(tasks[1].group == "g");
}

TEST_CASE("task file: mistakes are named with the file and the key", "[metrics][tasks]") {
  CHECK_THAT(refusal("{" + kTask + R"(, "promt": "x"})"),
             Catch::StartsWith("f.yaml: unknown key `promt`; known are answer, choices, "));
  CHECK(refusal("{" + kTask + R"(, "prompt": "x"})") == "f.yaml: choices is missing");
  CHECK(refusal("{" + kTask + R"(, "prompt": "{{x", "choices": ["A"]})") ==
        "f.yaml: prompt: template `{{x`: `}}` is missing");
  CHECK(refusal("{" + kTask + R"(, "prompt": 3, "choices": ["A"]})") ==
        "f.yaml: prompt: wanted text");
  CHECK(refusal("{" + kTask + R"(, "prompt": "x", "contexts": "y"})") ==
        "f.yaml: contexts replace prompt and choices");
  CHECK(refusal("{" + kTask + R"(, "prompt": "x", "choices": ["A"], "shots": {"take": "some"}})") ==
        "f.yaml: shots.take: wanted drawn or first");
  CHECK(refusal("[]") == "f.yaml: wanted a mapping");
  CHECK(refusal("{" + kTask + R"(, "version": "one"})") ==
        "f.yaml: /version: wanted an integer, got text");
  CHECK(refusal(R"({"task": "t", "splits": ["test"], "data": {"paths": ["p"]}, "answer": "{{a}}",
                   "prompt": "x", "choices": ["A"], "scores": ["acc_nrom"]})") ==
        "f.yaml: scores: got acc_nrom, wanted acc, acc_norm");
}
