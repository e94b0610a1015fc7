// The settings of the reference's whole-model quantization, run through the program.
#pragma once

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench::test {

// The settings of one method, and what the program made of them, in the same order.
struct Settings {
  std::vector<nlohmann::json> expected;
  std::vector<nlohmann::json> records;
};

// All settings of `method` in one `eval`; `more` is appended to each --quantizer. Skips the calling
// test without the reference data.
Settings run_settings(const std::string& method, const std::string& more);

// Calls `visit(index, got, wanted, name)` for the relative errors of all linears of a setting.
template <typename Visit>
void for_each_layer(const nlohmann::json& record, const nlohmann::json& setting, Visit visit) {
  const nlohmann::json& layers = record.at("details").at("layers");
  REQUIRE(layers.size() == setting.at("layers").size());
  for (size_t i = 0; i < layers.size(); ++i) {
    const nlohmann::json& wanted = setting.at("layers")[i];
    const std::string name = wanted.at("layer");
    CHECK(layers[i].at("name") == name);
    visit(i, layers[i].at("relative_error").get<double>(), wanted.at("rel_err").get<double>(),
          setting.at("id").get<std::string>() + " " + name);
  }
}

}  // namespace quench::test
