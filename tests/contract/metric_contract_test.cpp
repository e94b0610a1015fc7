#include "tests/contract/metric_contract.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/contract/scored_model.hpp"
#include "tests/contract/tensors.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/score_recorder.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

bool has(const quench_item& item, const std::string& parameter) {
  return std::any_of(item.parameters, item.parameters + item.parameter_count,
                     [&](const auto& each) { return parameter == each.name; });
}

// A task of two questions.
const TemporaryDir& questions() {
  static const TemporaryDir folder;
  static const bool written = [] {
    folder.write("task.yaml", R"({"task": "capitals", "splits": ["test"], "scores": ["acc"],
        "data": {"paths": ["capitals"]}, "prompt": "{{q}}", "choices": "{{c}}", "answer": "{{a}}"})");
    folder.write("capitals/test.jsonl",
                 "{\"q\": \"France?\", \"c\": [\"Paris\", \"Rome\"], \"a\": 0}\n"
                 "{\"q\": \"Italy?\", \"c\": [\"Paris\", \"Rome\"], \"a\": 1}\n");
    return true;
  }();
  static_cast<void>(written);
  return folder;
}

// Every corpus parameter set, a task for who wants tasks, all else default.
nlohmann::json parameters_for(const quench_item& item) {
  nlohmann::json parameters = nlohmann::json::object();
  for (uint32_t i = 0; i < item.parameter_count; ++i) {
    if (item.parameters[i].type == QUENCH_PARAMETER_CORPUS) {
      parameters[item.parameters[i].name] = "some_text";
    }
  }
  if (has(item, "tasks")) {
    parameters["tasks"] = {"capitals"};
    parameters["files"] = (questions() / "task.yaml").string();
    parameters["data"] = questions().path().string();
  }
  return parameters;
}

// Three documents, 6,000 ids below 50 in all.
TokenizedDocuments some_text() {
  TokenizedDocuments text;
  for (uint64_t d = 0; d < 3; ++d) {
    std::vector<int32_t>& ids = text.documents.emplace_back();
    for (const double value : numbers<double>(d + 1, 2000)) {
      ids.push_back(static_cast<int32_t>((value + 1) * 25));
    }
    text.bytes.push_back(6000);
  }
  return text;
}

// The metric on a model whose weights are `shift` off, beside a float model and a trajectory where
// it needs them; the weights are the same ones afterwards.
Measurement measure_shifted(const quench_item& item, const TokenizedDocuments& text, double shift) {
  ScoredModel model(shift);
  const ScoredModel floating(0);
  const ScoredModel first(-0.5);
  const ScoredModel second(0.125, 2.5);
  quench_metric* metric = nullptr;
  quench_error error{sizeof error, 0, {}};
  const auto& table = table_of<quench_metric_table>(item);
  const std::string json = complete_parameters(item, parameters_for(item));
  REQUIRE(table.create(json.data(), json.size(), &metric, &error) == QUENCH_OK);
  const uint32_t needs = table.needs == nullptr ? 0 : table.needs(metric);
  table.destroy(metric);
  std::vector<quench_weights> weights;
  const auto add = [&](const char* name, double step, const ScoredModel& of) {
    weights.push_back({sizeof(quench_weights), name, "", step, NAN, of.source()});
  };
  if ((needs & QUENCH_METRIC_NEEDS_FLOAT) != 0) {
    add("float", NAN, floating);
  }
  if ((needs & QUENCH_METRIC_NEEDS_TRAJECTORY) != 0) {
    add("step1", 1, first);
    add("step2", 2, second);
    add("step3", 3, model);
  }
  const auto before = model.weights;
  Measurement out = measure(item, parameters_for(item), text, model.subject(), weights);
  CHECK(model.weights == before);
  return out;
}

}  // namespace

namespace metric_contract {

void equal_models_measure_equal(const quench_item& item) {
  const Measurement one = measure_shifted(item, some_text(), 0.25);
  const Measurement two = measure_shifted(item, some_text(), 0.25);
  REQUIRE(one.message == "");
  REQUIRE(one.values.size() == two.values.size());
  for (size_t i = 0; i < one.values.size(); ++i) {
    CHECK(one.values[i].value == two.values[i].value);
  }
  CHECK(one.items == two.items);
  CHECK(one.details == two.details);
  CHECK(one.json == two.json);
}

void values_are_complete_and_items_pair(const quench_item& item) {
  const Measurement one = measure_shifted(item, some_text(), 0.25);
  const Measurement two = measure_shifted(item, some_text(), 0.75);
  REQUIRE(one.message == "");
  REQUIRE(!one.values.empty());
  for (const MeasuredValue& value : one.values) {
    CHECK(std::isfinite(value.value));
    CHECK(value.name != "");
    CHECK(value.unit != "");
    CHECK(std::abs(value.direction) <= 1);
    CHECK((std::isnan(value.standard_error) || value.standard_error >= 0));
  }
  REQUIRE(one.items.size() == two.items.size());
  for (const auto& [name, values] : one.items) {
    CHECK(two.items.at(name).size() == values.size());
  }
}

void an_empty_corpus_is_an_error(const quench_item& item) {
  if (std::none_of(item.parameters, item.parameters + item.parameter_count,
                   [](const auto& each) { return each.type == QUENCH_PARAMETER_CORPUS; })) {
    SUCCEED("it takes no corpus");
    return;
  }
  const Measurement empty = measure_shifted(item, {{{}}, {0}}, 0.25);
  CHECK(empty.status == QUENCH_FAILED_PRECONDITION);
  CHECK_THAT(empty.message, Catch::Contains("some_text"));
  CHECK(empty.values.empty());
}

}  // namespace metric_contract

namespace {

template <typename Check>
void for_each_metric(Check check) {
  for (const quench_item* item : items_of(METRIC_LIBRARIES, "metric")) {
    DYNAMIC_SECTION(item->id) {
      check(*item);
    }
  }
}

}  // namespace

TEST_CASE("every metric measures equal models alike", "[contract][metrics]") {
  for_each_metric(metric_contract::equal_models_measure_equal);
}
TEST_CASE("every metric's values are complete and its items pair", "[contract][metrics]") {
  for_each_metric(metric_contract::values_are_complete_and_items_pair);
}
TEST_CASE("every metric refuses a corpus without ids, by name", "[contract][metrics]") {
  for_each_metric(metric_contract::an_empty_corpus_is_an_error);
}

}  // namespace quench::test
