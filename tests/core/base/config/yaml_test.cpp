#include "core/base/config/yaml.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/processor_time.hpp"
#include "tests/support/throws.hpp"

using quench::parse_yaml;
using quench::YamlNode;

namespace {

std::string refusal(const std::string& text) {
  return quench::test::message_of([&] { parse_yaml(text, "m.yaml"); });
}

nlohmann::json json_of(const std::string& scalar) {
  return quench::yaml_to_json(*parse_yaml("a: " + scalar, "m.yaml").find("a"));
}

std::string repeated(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) {
    out += text;
  }
  return out;
}

double seconds_to_refuse(const std::string& text) {
  const quench::test::ProcessorTime taken;
  CHECK(!refusal(text).empty());
  return taken.seconds();
}

}  // namespace

TEST_CASE("yaml: every node remembers where it stood", "[config]") {
  const YamlNode root = parse_yaml("a: 1\nb:\n  - x\n  - {c: y}\n", "m.yaml");
  REQUIRE(root.is_mapping());
  CHECK(root.members[1].key_place.text() == "m.yaml:2:1");
  const YamlNode& list = *root.find("b");
  CHECK(list.items[0].place.text() == "m.yaml:3:5");
  CHECK(list.items[1].find("c")->place.text() == "m.yaml:4:9");
  CHECK(root.find("z") == nullptr);
}

TEST_CASE("yaml: what is refused names its line and column", "[config]") {
  const std::pair<std::string, std::string> cases[] = {
      {"bits: 3\ngroup: 4\nbits: 4\n", "m.yaml:3:1: key `bits` is given twice, first in line 1"},
      {"a: &x 1\n", "m.yaml:1:4: anchors (&name) are not supported here; write the value out"},
      {"&x [*x]\n", "m.yaml:1:1: anchors (&name) are not supported here; write the value out"},
      {"a: &b {c: 1}\nd:\n  <<: *b\n",
       "m.yaml:1:4: anchors (&name) are not supported here; write the value out"},
      {"d:\n  <<: {c: 1}\n", "m.yaml:2:3: merge keys (<<) are not supported here"},
      {"a: !!python/object 1\n",
       "m.yaml:1:4: the tag tag:yaml.org,2002:python/object is not supported here"},
      {"a: !mine [1]\n", "m.yaml:1:4: the tag !mine is not supported here"},
      {"a: 1\n---\nb: 2\n", "m.yaml: more than one document (---)"},
      {"\xEF\xBB\xBF"
       "a: 1\n",
       "m.yaml:1:1: starts with a byte order mark; wanted plain UTF-8"},
      {std::string("\xFF\xFE"
                   "a\0:\0",
                   6),
       "m.yaml:1:1: starts with a byte order mark; wanted plain UTF-8"},
      {std::string("a\0:\0 \0", 6), "m.yaml:1:2: control character 0x00; wanted UTF-8 text"},
      {"a: 1\nb: \x01\n", "m.yaml:2:4: control character 0x01; wanted UTF-8 text"},
      {"a: 1\nb: caf\xE9\n", "m.yaml:2:7: byte 0xe9; wanted UTF-8 text"},
      {"? [a]\n: 1\n", "m.yaml:1:3: a key must be a word or a number (or a bracket is not closed)"},
      {"", "m.yaml: empty; wanted a mapping"},
      {"# only a comment\n", "m.yaml: empty; wanted a mapping"},
      {"a: 1\n\tb: 2\n", "m.yaml:2: the line is indented by a tab; wanted spaces"},
      {"a:\n\u00a0 b: 2\n  c: 3\n",
       "m.yaml:2: the line is indented by a no-break space (U+00A0); wanted spaces"},
      {"a:\n\u3000b: 2\n  c: 3\n",
       "m.yaml:2: the line is indented by a wide space (U+3000); wanted spaces"},
      {"a: [1, 2\nb: 3\n",
       "m.yaml:2:2: the `[` of line 1, column 4 is not closed; wanted `]` or `,`"},
      {"c: {a: tiny b: x}\n",
       "m.yaml:1:14: the `{` of line 1, column 4 is not closed; wanted `}` or `,`"},
      {"c: {a: \"tiny}\n", "m.yaml:2:1: the `\"` of line 1, column 8 is not closed; wanted `\"`"},
      {"c: {a: [1, 2}\n",
       "m.yaml:1:13: a bracket that does not close the `[` of line 1, column 8; wanted `]`"},
      {"c: {a: it's [1, 2}  # it's {\n",
       "m.yaml:1:13: the `{` of line 1, column 4 is not closed; wanted `}` or `,`"},
      {"p: 'C:\\'\nc: {a: x b: y}\n",
       "m.yaml:2:11: the `{` of line 2, column 4 is not closed; wanted `}` or `,`"},
      {"p: \"x\\\\\"\nc: {a: x b: y}\n",
       "m.yaml:2:11: the `{` of line 2, column 4 is not closed; wanted `}` or `,`"},
      {"p: 'it''s [x'\nc: {a: x b: y}\n",
       "m.yaml:2:11: the `{` of line 2, column 4 is not closed; wanted `}` or `,`"},
      {"title: loss [nats\nc: {a: 1}}\n", "m.yaml:2:10: a bracket that closes none; wanted none"},
      {"c: {a: 1}}\n", "m.yaml:1:10: a bracket that closes none; wanted none"},
      {"q: rtn: 4\n",
       "m.yaml:1:7: a value with a `:` behind it; wanted each entry in a line of its own, or {...} "
       "around those that lie inside another"},
      {"q:\n  - rtn: {bits:[3, 4]}\n", "m.yaml:2:16: wanted a space behind `:`"},
      {"q:\n  - rtn: {bits: 3, x:{a: 1}}\n", "m.yaml:2:22: wanted a space behind `:`"},
      {"q:\n  - gptq: {}\n  -rtn: {}\n", "m.yaml:3:4: wanted a space behind `-`"},
  };
  for (const auto& [text, wanted] : cases) {
    CAPTURE(text);
    CHECK(refusal(text) == wanted);
  }
}

TEST_CASE("yaml: a line that is indented like none above it is told so, with the next one",
          "[config]") {
  const std::pair<std::string, std::string> cases[] = {
      {"q:\n  - rtn: {}\n - gptq: {}\n",
       "m.yaml:3: the line is indented by 1, wanted 2, as in line 2"},
      {"q:\n  - gptq: {bits: 3}\n      calibration: few\n",
       "m.yaml:3: the line is indented by 6, wanted 4, as in line 2"},
      {"a:\n    b: 1\n\n  # a comment\n  c: 2\n",
       "m.yaml:5: the line is indented by 2, wanted 4, as in line 2"},
      {"a: 1\n  b: 2\n", "m.yaml:2: the line is indented by 2, wanted 0, as in line 1"},
  };
  for (const auto& [text, wanted] : cases) {
    CAPTURE(text);
    CHECK(refusal(text) == wanted);
  }
}

TEST_CASE("yaml: an alias bomb is refused at its first anchor", "[config]") {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += fmt::format("a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}, *a{1}]\n", i, i - 1);
  }
  CHECK(refusal(bomb) == "m.yaml:1:5: anchors (&name) are not supported here; write the value out");
}

TEST_CASE("yaml: depth and size are bounded, and refusing is quick", "[config]") {
  const std::string brackets = repeated("[", 100'000);
  const std::string dashes = repeated("- ", 3'000) + "x\n";
  CHECK(refusal("a: " + brackets) ==
        "m.yaml:1:5: a key must be a word or a number (or a bracket is not closed)");
  CHECK(refusal("a: " + brackets + repeated("]", 100'000)) ==
        "m.yaml:1:67: nested deeper than 64 levels");
  CHECK(refusal(dashes) == "m.yaml:1:129: nested deeper than 64 levels");
  // Some 50 ms on an idle machine; the bound leaves room for a sanitized build.
  CHECK(seconds_to_refuse(brackets) < 20);
  CHECK(seconds_to_refuse(dashes) < 20);
  CHECK(refusal(std::string(100u << 20, ' ')) ==
        "m.yaml: 104857600 bytes, wanted at most 16777216");
}

TEST_CASE("yaml: escapes of quoted texts are the characters that they name", "[config]") {
  const auto read = [](const char* text) { return parse_yaml(text, "m.yaml").scalar; };
  CHECK(read(R"("a\_b\N\_\u00e9\_")") ==
        "a\xC2\xA0"
        "b\xC2\x85\xC2\xA0\xC3\xA9\xC2\xA0");
  CHECK(read(R"("\L\P\x41\t")") ==
        "\xE2\x80\xA8\xE2\x80\xA9"
        "A\t");
  CHECK(read(R"('a\_b')") == R"(a\_b)");
  const YamlNode keyed = parse_yaml(R"({"k\_": "v\N"})", "m.yaml");
  CHECK(quench::yaml_to_json(keyed).dump() == "{\"k\xC2\xA0\":\"v\xC2\x85\"}");
}

TEST_CASE("yaml: a mapping of 100000 keys is read in linear time", "[config]") {
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    text += fmt::format("key{}: 1\n", i);
  }
  const quench::test::ProcessorTime taken;
  CHECK(parse_yaml(text, "m.yaml").members.size() == 100'000);
  CHECK(taken.seconds() < 30);  // quadratic: minutes
}

TEST_CASE("yaml: only what JSON writes as a number is one", "[config]") {
  const std::pair<const char*, nlohmann::json> cases[] = {
      {"3", 3},
      {"-1", -1},
      {"0", 0},
      {"3.0", 3.0},
      {"1e5", 1e5},
      {"1E-3", 1e-3},
      {"010", "010"},
      {"0x4", "0x4"},
      {"0o7", "0o7"},
      {"yes", "yes"},
      {"on", "on"},
      {"True", "True"},
      {"true", true},
      {"false", false},
      {".inf", ".inf"},
      {".nan", ".nan"},
      {"+3", "+3"},
      {"1_000", "1_000"},
      {"1.", "1."},
      {".5", ".5"},
      {"1:30", "1:30"},
      {"\"3\"", "3"},
      {"'true'", "true"},
      {"1e999", "1e999"},
      {"9223372036854775807", 9223372036854775807},
      {"9223372036854775808", "9223372036854775808"},
      {"null", nullptr},
      {"~", nullptr},
      {"\"\"", ""},
      {"\"null\"", "null"}};
  for (const auto& [text, wanted] : cases) {
    CAPTURE(text);
    const nlohmann::json got = json_of(text);
    CHECK(got == wanted);
    CHECK(got.type_name() == std::string(wanted.type_name()));
    CHECK(got.is_number_float() == wanted.is_number_float());
  }
}

TEST_CASE("yaml: a node says what it is", "[config]") {
  CHECK(parse_yaml("[]", "m").described() == "an empty list");
  CHECK(parse_yaml("{}", "m").described() == "an empty mapping");
  CHECK(parse_yaml("~", "m").described() == "nothing");
  CHECK(parse_yaml("3", "m").described() == "the number 3");
  CHECK(parse_yaml("true", "m").described() == "the word true");
  CHECK(parse_yaml("\"3\\n\"", "m").described() == "the text \"3\\x0a\"");
}
