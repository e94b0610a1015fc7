// What every plugin publishes of itself.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/contract/tensors.hpp"

namespace quench::test {

namespace {

std::vector<const quench_item*> all_items() {
  std::vector<const quench_item*> all;
  for (const auto& [libraries, kind] : {std::pair{QUANTIZER_LIBRARIES, "quantizer"},
                                        {TRANSFORM_LIBRARIES, "transform"},
                                        {CORPUS_LIBRARIES, "corpus"},
                                        {TOKENIZER_LIBRARIES, "tokenizer"},
                                        {METRIC_LIBRARIES, "metric"},
                                        {MODEL_LIBRARIES, "model"},
                                        {AVERAGING_LIBRARIES, "averaging"},
                                        {OPTIMIZER_LIBRARIES, "optimizer"},
                                        {FORMAT_LIBRARIES, "format"}}) {
    for (const quench_item* item : items_of(libraries, kind)) {
      all.push_back(item);
    }
  }
  return all;
}

// Whether a default is of the parameter's type and within its range and choices.
bool fits(const quench_parameter& parameter, const nlohmann::json& value) {
  const auto in_range = [&parameter](const nlohmann::json& number) {
    return number.is_number() && number.get<double>() >= parameter.minimum &&
           number.get<double>() <= parameter.maximum;
  };
  switch (parameter.type) {
    case QUENCH_PARAMETER_INTEGER:
      return value.is_number_integer() && in_range(value);
    case QUENCH_PARAMETER_NUMBER:
      return in_range(value);
    case QUENCH_PARAMETER_BOOLEAN:
      return value.is_boolean();
    case QUENCH_PARAMETER_CHOICE:
      return value.is_string() &&
             ("|" + std::string(parameter.choices) + "|")
                     .find("|" + value.get<std::string>() + "|") != std::string::npos;
    case QUENCH_PARAMETER_INTEGER_LIST:
    case QUENCH_PARAMETER_NUMBER_LIST:
      return value.is_array() && std::all_of(value.begin(), value.end(), in_range);
    case QUENCH_PARAMETER_STRING_LIST:
      return value.is_array();
    default:
      return value.is_string();
  }
}

}  // namespace

TEST_CASE("every plugin has an id, a version and a summary", "[contract]") {
  for (const quench_item* item : all_items()) {
    INFO(item->id);
    CHECK(std::regex_match(item->id, std::regex("[a-z][a-z0-9_-]{0,63}")));
    CHECK(std::regex_match(item->version, std::regex("\\d+\\.\\d+\\.\\d+")));
    CHECK(std::string(item->summary).back() == '.');
    CHECK(item->flags == 0);
    CHECK(item->table != nullptr);
  }
}

TEST_CASE("every plugin's parameters have a meaning, and defaults within their range",
          "[contract]") {
  for (const quench_item* item : all_items()) {
    std::set<std::string> names;
    for (uint32_t i = 0; i < item->parameter_count; ++i) {
      const quench_parameter& parameter = item->parameters[i];
      INFO(item->id << ": " << parameter.name);
      CHECK(std::regex_match(parameter.name, std::regex("[a-z][a-z0-9_]*")));
      CHECK(names.insert(parameter.name).second);
      CHECK(std::string(parameter.meaning).size() > 5);
      CHECK((parameter.type == QUENCH_PARAMETER_CHOICE) == (parameter.choices != nullptr));
      if (parameter.default_json != nullptr) {
        const nlohmann::json value = nlohmann::json::parse(parameter.default_json);
        CHECK((value.is_null() || fits(parameter, value)));
      }
    }
  }
}

}  // namespace quench::test
