#include <catch2/catch.hpp>
#include <fstream>
#include <limits>

#include "run/grid/estimate.hpp"
#include "tests/support/temporary.hpp"

using quench::Rates;
using quench::test::TemporaryDir;

TEST_CASE("rates: what was measured is read back", "[core][cli]") {
  const TemporaryDir home;
  Rates rates(home.path());
  rates.observe({{"metric", "a"}}, "metric a", 1000, 10, 0.5);
  rates.save();
  const Rates again(home.path());
  REQUIRE(again.find({{"metric", "a"}}) != nullptr);
  CHECK(again.find({{"metric", "a"}})->seconds_per_parameter == 0.5 / 1000);
  CHECK(again.find({{"metric", "a"}})->tokens == 10);
  CHECK(again.rate_of("metric a") == 2.0 * 1000 * 10 / 0.5);
}

TEST_CASE("rates: a metric's tokens count as its plugin gives them", "[core][cli]") {
  const TemporaryDir home;
  Rates rates(home.path());
  quench::Record record;
  record.metric = "a";
  record.seconds = 0.5;
  record.parts = {{"weights", "w"},
                  {"tokenizer", nullptr},
                  {"metric", {{"id", "a"}, {"params", nullptr}, {"corpora", nullptr}}},
                  {"environment", {{"dtype", "float32"}}}};
  record.details = {{"tokens", 10.0}};  // a double until it is read back from a file
  rates.observe({record}, {{"w", 1000}});
  CHECK(rates.rate_of("metric a") == 2.0 * 1000 * 10 / 0.5);
  for (const nlohmann::json& odd :
       {nlohmann::json(-1.0), nlohmann::json(1e300), nlohmann::json("10")}) {
    record.metric = "b";
    record.details = {{"tokens", odd}};
    rates.observe({record}, {{"w", 1000}});
    CHECK(rates.rate_of("metric b") == 0);
  }
}

TEST_CASE("rates: what is none is not written, and a file with one is not read", "[core][cli]") {
  const TemporaryDir home;
  Rates rates(home.path());
  rates.observe({{"metric", "a"}}, "metric a", 1000, 10, 0.5);
  rates.observe({{"metric", "b"}}, "metric b", 1000, 10, std::numeric_limits<double>::quiet_NaN());
  rates.save();
  CHECK(Rates(home.path()).find({{"metric", "b"}}) == nullptr);
  const std::string whole = quench::test::read_file(home / "rates.json");
  rates.observe({{"metric", "c"}}, "metric c", 1000, 10, std::numeric_limits<double>::denorm_min());
  CHECK_THROWS_WITH(rates.save(), Catch::Contains("rates.json: ") && Catch::Contains("is no rate"));
  CHECK(quench::test::read_file(home / "rates.json") == whole);
  for (const char* text : {"-1", "0", "null", "\"fast\"", "1e999"}) {
    std::ofstream(home / "rates.json")
        << R"({"plugins": {"metric a": 2.0, "metric b": )" << text << R"(}, "work": {}})"
        << "\n";
    INFO(text);
    CHECK(Rates(home.path()).rate_of("metric a") == 0);
  }
}
