// kit::Json, on the host's own service.
#include "quench/kit/json.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "tests/support/test_host.hpp"

using quench::kit::Error;
using quench::kit::Json;

namespace {

constexpr std::string_view kText =
    R"({"a": [1, 2.0, true, null, "x\u0000y", [7]], "m": {"k": 9223372036854775807},
        "": {"": 5}, "big": 9223372036854775808, "x/y": 6})";

Json parsed(std::string_view text) {
  quench::kit::current_host = quench::test::test_host();
  return {text.data(), text.size()};
}

std::string message_of(const Json& json, const std::string& at) {
  try {
    json.integer(at);
  } catch (const Error& error) {
    return std::to_string(error.code()) + " " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("json: values are found by paths and keep their type", "[sdk]") {
  const Json json = parsed(kText);
  CHECK(json.type("") == QUENCH_JSON_OBJECT);
  CHECK(json.type("/a") == QUENCH_JSON_ARRAY);
  CHECK(json.type("/a/0") == QUENCH_JSON_INTEGER);
  CHECK(json.type("/a/1") == QUENCH_JSON_NUMBER);
  CHECK(json.type("/a/3") == QUENCH_JSON_NULL);
  CHECK(json.type("/a/5/0") == QUENCH_JSON_INTEGER);
  CHECK(json.type("/big") == QUENCH_JSON_NUMBER);
  CHECK(json.type("//") == QUENCH_JSON_INTEGER);
  for (const char* nowhere : {"/a/6", "/a/-", "/a/", "/a/0x", "/x", "a", "/m/j", "/big/x", "/x/y",
                              "/a/99999999999999999999"}) {
    INFO(nowhere);
    CHECK(json.type(nowhere) == QUENCH_JSON_ABSENT);
  }
  CHECK(json.has("/m"));
  CHECK_FALSE(json.has("/a/3"));
  CHECK(json.integer("/m/k") == INT64_MAX);
  CHECK(json.number("/a/0") == 1.0);
  CHECK(json.boolean("/a/2"));
  CHECK(json.string("/a/4") == std::string("x\0y", 3));
  CHECK(json.integer_or("/n", 3) == 3);
  CHECK(json.size("/a") == 6);
  CHECK(json.size("/big") == 0);
  CHECK(json.keys("") == std::vector<std::string>{"", "a", "big", "m", "x/y"});
  CHECK(json.keys("/a").empty());
  CHECK(json.find("")->member("x/y")->integer() == 6);
}

TEST_CASE("json: an error names the path, what is there and what was wanted", "[sdk][bad]") {
  const Json json = parsed(kText);
  CHECK(message_of(json, "/a/1") == "1 /a/1: wanted an integer, got a number");
  CHECK(message_of(json, "/a") == "1 /a: wanted an integer, got a list");
  CHECK(message_of(json, "/x") == "3 /x: missing");
  CHECK_THROWS_AS(parsed("{\"a\": 1, \"a\": 2}"), Error);
}
