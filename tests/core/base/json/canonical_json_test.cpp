#include "core/base/json/canonical_json.hpp"

#include <catch2/catch.hpp>
#include <clocale>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/json/parse_json.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/throws.hpp"

using nlohmann::json;
using quench::canonical_json;

TEST_CASE("canonical_json: one spelling per value", "[core][json]") {
  json value;
  value["b"] = {1, -2, UINT64_MAX, nullptr, true, json::array(), json::object()};
  value["a"] = {0.1, 1.0, -0.0, 1e22, 5e-324, 1.0 / 3};
  value["\"\n"] = "ü\x01";
  CHECK(canonical_json(value) ==
        "{\"\\\"\\n\":\"ü\\u0001\",\"a\":[0.1,1.0,-0.0,1e+22,5e-324,0.3333333333333333],"
        "\"b\":[1,-2,18446744073709551615,null,true,[],{}]}");
  CHECK(quench::parse_json(canonical_json(value), "x") == value);
}

TEST_CASE("canonical_json: a locale with a decimal comma changes nothing", "[core][json]") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  const bool comma = std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
  const std::string text = canonical_json(json(0.5));
  std::setlocale(LC_NUMERIC, before.c_str());
  CHECK(text == "0.5");
  quench::test::skip_unless(comma, "the locale de_DE.UTF-8 is not installed");
}

TEST_CASE("canonical_json: refuses what JSON cannot say", "[core][json]") {
  using quench::test::message_of;
  CHECK(message_of([] { canonical_json(std::numeric_limits<double>::quiet_NaN()); }) ==
        "canonical JSON: nan is not a finite number");
  CHECK(message_of([] {
          canonical_json({1, -std::numeric_limits<double>::infinity()});
        }) == "canonical JSON: -inf is not a finite number");
  CHECK(message_of([] { canonical_json("a\xff"); }) == "canonical JSON: 'a\\xff' is not UTF-8");
  CHECK(message_of([] { canonical_json(json::binary({1})); }) ==
        "canonical JSON: a binary value has no JSON form");
}
