#include "tests/contract/metric_contract.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/contract/tensors.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/score_recorder.hpp"

namespace quench::test {

namespace {

// Every corpus parameter set, all else default.
nlohmann::json parameters_for(const quench_item& item) {
  nlohmann::json parameters = nlohmann::json::object();
  for (uint32_t i = 0; i < item.parameter_count; ++i) {
    if (item.parameters[i].type == QUENCH_PARAMETER_CORPUS) {
      parameters[item.parameters[i].name] = "some_text";
    }
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

double by_id(const std::vector<int32_t>& row, size_t t) {
  return 0.01 * row[t] + 0.001 * row[t - 1];
}
double worse(const std::vector<int32_t>& row, size_t t) {
  return by_id(row, t) + 0.5;
}

}  // namespace

namespace metric_contract {

void equal_models_measure_equal(const quench_item& item) {
  const Measurement one = measure(item, parameters_for(item), some_text(), by_id);
  const Measurement two = measure(item, parameters_for(item), some_text(), by_id);
  REQUIRE(one.message == "");
  REQUIRE(one.values.size() == two.values.size());
  for (size_t i = 0; i < one.values.size(); ++i) {
    CHECK(one.values[i].value == two.values[i].value);
  }
  CHECK(one.items == two.items);
  CHECK(one.details == two.details);
}

void values_are_complete_and_items_pair(const quench_item& item) {
  const Measurement one = measure(item, parameters_for(item), some_text(), by_id);
  const Measurement two = measure(item, parameters_for(item), some_text(), worse);
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
  const Measurement empty = measure(item, parameters_for(item), {{{}}, {0}}, by_id);
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
