#include "metrics/tasks/expression.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/bounded.hpp"
#include "tests/support/test_host.hpp"

using quench::tasks::List;
using quench::tasks::Template;
using quench::tasks::Value;

namespace {

Value record(const std::string& json) {
  return Value::of(quench::kit::Json(json.data(), json.size()));
}

std::string rendered(const std::string& text, const std::string& json) {
  return Template(text).text(record(json));
}

std::string refusal(const std::string& text, const std::string& json) {
  try {
    Template(text).value(record(json));
    return "";
  } catch (const quench::kit::Error& error) {
    return error.what();
  }
}

List texts(const std::vector<std::string>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("task template: text around expressions is kept to the letter", "[metrics][tasks]") {
  CHECK(rendered("Question: {{ q }}\nAnswer:", R"({"q": " why? "})") ==
        "Question:  why? \nAnswer:");
  CHECK(rendered("{{a}}{{b}}", R"({"a": 1, "b": true})") == "1True");
  CHECK(rendered("no field", "{}") == "no field");
  CHECK(rendered("", "{}").empty());
}

TEST_CASE("task template: an expression alone keeps its kind", "[metrics][tasks]") {
  const Value all = record(R"({"c": {"text": ["x", "y"], "label": ["A", "B"]}, "k": "B", "n": 2})");
  CHECK(Template("{{c.text}}").value(all) == Value(texts({"x", "y"})));
  CHECK(Template("{{c.label.index(k)}}").value(all) == Value(int64_t{1}));
  CHECK(Template("{{[c.text[1], c['text'][0], c.text.0]}}").value(all) ==
        Value(texts({"y", "x", "x"})));
  CHECK(Template("{{n - 1}}").value(all) == Value(int64_t{1}));
  CHECK(Template("{{n.int() + 1}}").value(all) == Value(int64_t{3}));
}

TEST_CASE("task template: methods are those of Python's texts", "[metrics][tasks]") {
  CHECK(rendered("{{t.strip()}}", "{\"t\": \"\\u00a0\\u001f a\\u3000\\n\"}") == "a");
  CHECK(rendered("{{t.rstrip(' ,')}}|", R"({"t": " 4 , "})") == " 4|");
  CHECK(rendered("{{t.lstrip()}}|", R"({"t": " 4 , "})") == "4 , |");
  CHECK(rendered("{{t.capitalize()}}", R"({"t": "éCOLE De"})") == "École de");
  CHECK(rendered("{{t.replace('  ', ' ')}}", R"({"t": "a   b"})") == "a  b");  // one pass
  CHECK(rendered("{{t.before('_') + 'X' + t.after('_').strip()}}", R"({"t": "a _ b _"})") ==
        "a Xb _");
  CHECK(rendered("{{t.from(2)}}", R"({"t": "äöü"})") == "ü");
  CHECK(rendered("{{t.join(\"\\n\")}}", R"({"t": ["a", "b"]})") == "a\nb");
}

TEST_CASE("task template: case is Python's, where it takes several characters and where sigma ends",
          "[metrics][tasks]") {
  const auto cased = [](const std::string& method, const std::string& text) {
    return Template("{{t." + method + "()}}").text(record(nlohmann::json{{"t", text}}.dump()));
  };
  CHECK(cased("capitalize", "ßTRASSE") == "Sstrasse");
  CHECK(cased("capitalize", "ﬁN") == "Fin");
  CHECK(cased("capitalize", "ǆ") == "ǅ");
  CHECK(cased("upper", "straße ŉ ᾳ") == "STRASSE ʼN ΑΙ");
  CHECK(cased("lower", "İZMİR") == "i̇zmi̇r");
  CHECK(cased("lower", "ΟΔΟΣ ΣΑΣ Σ ΑΣ'Α ΑΣ.") == "οδος σας σ ασ'α ας.");
  CHECK(cased("upper", "ÿ") == "Ÿ");
}

TEST_CASE("task template: a text method on a list works on every element", "[metrics][tasks]") {
  const Value all = record(R"({"o": "a ) 3 , b ) 4.5 , c ) none of these , d ) 1,000 , e ) 7 ,"})");
  CHECK(Template(R"({{o.findall("[abcd] \) .*?, |e \) .*?$").from(4).rstrip(" ,")}})").value(all) ==
        Value(texts({"3", "4.5", "none of these", "1,000", "7"})));
  const Value endings = record(R"({"e": [" A [title] b", "[x] c  [y]d"]})");
  CHECK(Template(R"({{e.strip().replace(" [title]", ". ").sub("\[.*?\]", "").replace("  ", " ")}})")
            .value(endings) == Value(texts({"A. b", " c d"})));
}

TEST_CASE("task template: what is wrong is named", "[metrics][tasks]") {
  CHECK(refusal("{{a", "{}") == "template `{{a`: `}}` is missing");
  CHECK(refusal("{{a}}", "{}") == "template `{{a}}`: the record has no field `a`");
  CHECK(refusal("{{a.b}}", R"({"a": 1})") == "template `{{a.b}}`: no `b` in an integer");
  CHECK(refusal("{{a[2]}}", R"({"a": [1]})") == "template `{{a[2]}}`: [2] of a list of 1");
  CHECK(refusal("{{a.eval()}}", R"({"a": 1})") == "template `{{a.eval()}}`: unknown method `eval`");
  CHECK(refusal("{{a.strip(1, 2)}}", "{}") ==
        "template `{{a.strip(1, 2)}}`: `strip`: got 2 arguments, wanted 1");
  CHECK(refusal("{{'a}}", "{}") == "template `{{'a}}`: a quoted text does not end");
  CHECK(refusal("{{a b}}", "{}") == "template `{{a b}}`: unexpected `b`");
  CHECK(refusal("{{}}", "{}") == "template `{{}}`: an expression is missing");
  CHECK(refusal("{{a.index('x')}}", R"({"a": ["y"]})") ==
        "template `{{a.index('x')}}`: index: the value is not in the list or text");
  CHECK_THAT(refusal("{{a.sub('(', '')}}", R"({"a": "y"})"),
             Catch::Contains("regular expression `(`"));
  CHECK(refusal("{{" + std::string(100, '(') + "}}", "{}").find("nested too deeply") !=
        std::string::npos);
}

TEST_CASE("task template: an expression that backtracks without end is an error",
          "[metrics][tasks]") {
  const std::string text(5000, 'a');
  CHECK_THAT(refusal("{{a.sub('(a+)+[bc]', '')}}", "{\"a\": \"" + text + "\"}"),
             Catch::Contains("match limit exceeded"));
}

TEST_CASE("task template: an expression of any length is refused before it is a stack overflow",
          "[metrics][tasks]") {
  std::string lower = "{{ q";
  std::string sum = "{{ q";
  for (int i = 0; i < 100'000; ++i) {
    lower += ".lower()";
    sum += " + q";
  }
  for (const std::string& bomb : {lower, sum}) {
    CHECK_THAT(refusal(bomb + " }}", R"({"q": "a"})"),
               Catch::EndsWith("...`: more than 256 fields, methods and sums"));
  }
}

TEST_CASE("task template: a text that doubles with each method is refused", "[metrics][tasks]") {
  std::string replaced = "{{ q";
  std::string substituted = "{{ q";
  for (int i = 0; i < 100; ++i) {
    replaced += ".replace('a', 'aa')";
    substituted += ".sub('a', 'aa')";
  }
  for (const std::string& bomb : {replaced, substituted}) {
    const std::string got = quench::test::message_within(
        200, [&] { throw std::runtime_error(refusal(bomb + " }}", R"({"q": "a"})")); });
    CHECK_THAT(got, Catch::EndsWith("...`: a text of more than 16777216 bytes"));
  }
}

TEST_CASE("task template: a regular expression that is slow at each character is given up",
          "[metrics][tasks]") {
  const std::string json = R"({"q": ")" + std::string(50'000, 'a') + R"(!"})";
  const std::string got = quench::test::message_within(200, [&] {
    throw std::runtime_error(refusal("{{ q.findall('a(?=(a|aa)*$)|a').length() }}", json));
  });
  CHECK_THAT(got, Catch::EndsWith("limit exceeded"));  // of steps or of depth, as PCRE2 was built
  // A million matches are none too many.
  const std::string many = R"({"q": ")" + std::string(1'000'000, 'a') + R"("})";
  CHECK(quench::test::message_within(400, [&] {
          throw std::runtime_error(rendered("{{ q.findall('a').length() }}", many));
        }) == "1000000");
}

TEST_CASE("task template: sums that do not fit are refused", "[metrics][tasks]") {
  CHECK_THAT(refusal("{{ n + 1 }}", R"({"n": 9223372036854775807})"),
             Catch::EndsWith("+: the sum does not fit 64 bits"));
  CHECK_THAT(refusal("{{ n - 2 }}", R"({"n": -9223372036854775807})"),
             Catch::EndsWith("-: the difference does not fit 64 bits"));
}
