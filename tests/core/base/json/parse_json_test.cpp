#include "core/base/json/parse_json.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/throws.hpp"

using quench::parse_json;
using quench::test::message_of;

TEST_CASE("parse_json: reads what JSON allows", "[core][json]") {
  const auto value = parse_json(
      R"({"a": [1, -2, 1.5, "x", null, true], "b": {"a": {}}, "n": 18446744073709551615})", "x");
  CHECK(value["a"][1].get<int64_t>() == -2);
  CHECK(value["n"].get<uint64_t>() == UINT64_MAX);
  CHECK(value["b"]["a"].is_object());
  CHECK(parse_json("1e308", "x").get<double>() == 1e308);
}

TEST_CASE("parse_json: an integer beyond 64 bits is a double, not a wrapped integer",
          "[core][json]") {
  const auto value = parse_json("1000000000000000019884624838656", "x");
  CHECK(value.is_number_float());
  CHECK(value.get<double>() == 1e30);
  CHECK(message_of([&] { quench::json_unsigned(value, "x: model_max_length"); }) ==
        "x: model_max_length: 1e+30, wanted a non-negative integer");
}

TEST_CASE("parse_json: refuses with file, line and column", "[core][json]") {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::string name = GENERATE("f.json");
  const auto [text, message] = GENERATE(values<Case>({
      {"{\"a\": 1,\n \"a\": 2}", "f.json:2:4: invalid JSON: duplicate key 'a'"},
      {"{\"a\": {\"b\": 1, \"b\": 1}}", "f.json:1:18: invalid JSON: duplicate key 'b'"},
      {"[NaN]", "f.json:1:2: invalid JSON: NaN, wanted a number or null"},
      {"{\"a\": {\"b\": 1},\n \"c\": NaN}",
       "f.json:2:7: invalid JSON: 'c': NaN, wanted a number or null"},
      {"{\"a\": [1, -Infinity]}", "f.json:1:12: invalid JSON: Infinity, wanted a number or null"},
      {"[Nan]",
       "f.json:1:2: invalid JSON: syntax error while parsing value - invalid literal; last read: "
       "'[N'"},
      {"[Infinity]", "f.json:1:2: invalid JSON: Infinity, wanted a number or null"},
      {"[-Infinity]", "f.json:1:3: invalid JSON: Infinity, wanted a number or null"},
      {"[1e999]", "f.json:1:7: invalid JSON: number overflow parsing '1e999'"},
      {"",
       "f.json:1:1: invalid JSON: syntax error while parsing value - unexpected end of input; "
       "expected '[', '{', or a literal"},
      {"[1] 2",
       "f.json:1:5: invalid JSON: syntax error while parsing value - unexpected number literal; "
       "expected end of input"},
      {"[\"\xff\"]",
       "f.json:1:3: invalid JSON: syntax error while parsing value - invalid string: ill-formed "
       "UTF-8 byte; last read: '\"\\xff'"},
      {"[\"\xc0\x80\"]",
       "f.json:1:3: invalid JSON: syntax error while parsing value - invalid string: ill-formed "
       "UTF-8 byte; last read: '\"\\xc0'"},
      {"[\"\\ud800\"]",
       "f.json:1:9: invalid JSON: syntax error while parsing value - invalid string: surrogate "
       "U+D800..U+DBFF must be followed by U+DC00..U+DFFF; last read: '\"\\ud800\"'"},
      {"[01]",
       "f.json:1:4: invalid JSON: syntax error while parsing array - unexpected number literal; "
       "expected ']'"},
      {"// c\n1",
       "f.json:1:1: invalid JSON: syntax error while parsing value - invalid literal; last read: "
       "'/'"},
      {"[1,]",
       "f.json:1:4: invalid JSON: syntax error while parsing value - unexpected ']'; expected '[', "
       "'{', or a literal"},
      {std::string(65, '[') + std::string(65, ']'),
       "f.json:1:65: invalid JSON: nested deeper than 64 levels"},
      {std::string(1000000, '['), "f.json:1:65: invalid JSON: nested deeper than 64 levels"},
  }));
  CAPTURE(text.substr(0, 80));
  CHECK(message_of([&, &json = text] { parse_json(json, name); }) == message);
}

TEST_CASE("parse_json: size and number of values are limited", "[core][json]") {
  quench::JsonLimits limits;
  limits.max_bytes = 8;
  CHECK(message_of([&] { parse_json("[1,2,3,4]", "f", limits); }) ==
        "f: 9 bytes of JSON, wanted at most 8");
  limits.max_bytes = 100;
  limits.max_values = 3;
  CHECK(message_of([&] { parse_json("[1,2,3]", "f", limits); }) ==
        "f:1:7: invalid JSON: more than 3 values");
}

TEST_CASE("parse_json: a NUL ends nothing", "[core][json]") {
  for (const std::string& text : {std::string("{}\0rubbish", 10), std::string("{}\0", 3)}) {
    CHECK(message_of([&] { parse_json(text, "f"); }) ==
          "f: byte 2 is a NUL, wanted JSON to the end");
  }
}

TEST_CASE("json_unsigned: converts nothing", "[core][json]") {
  const auto value = parse_json("[7, -1, 1.9, \"3\", 1.0]", "f");
  CHECK(quench::json_unsigned(value[0], "f") == 7);
  CHECK(message_of([&] { quench::json_unsigned(value[1], "f: k"); }) ==
        "f: k: -1, wanted a non-negative integer");
  CHECK(message_of([&] { quench::json_unsigned(value[2], "f: k"); }) ==
        "f: k: 1.9, wanted a non-negative integer");
  CHECK(message_of([&] { quench::json_unsigned(value[3], "f: k"); }) ==
        "f: k: \"3\", wanted a non-negative integer");
  CHECK(message_of([&] { quench::json_unsigned(value[4], "f: k"); }) ==
        "f: k: 1.0, wanted a non-negative integer");
}
