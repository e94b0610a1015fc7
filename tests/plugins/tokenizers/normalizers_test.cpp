#include <catch2/catch.hpp>

#include "tests/plugins/tokenizers/json_entry.hpp"
#include "tokenizers/tokenizer_json/normalizers/normalizer.hpp"

namespace quench::tokenizers {

namespace {

std::string normalized(const std::string& normalizer, std::string_view text) {
  const test::Json json(normalizer);
  std::string out;
  size_t from_first = 0;
  const bool changed = make_normalizer(json.entry())->apply(text, 1 << 20, out, from_first);
  return changed ? out : std::string(text);
}

std::string form(const std::string& name, std::string_view text) {
  return normalized(R"({"type": ")" + name + "\"}", text);
}

}  // namespace

TEST_CASE("NFC: composes, orders marks and leaves the rest", "[tokenizers]") {
  CHECK(form("NFC", "plain \u00e9") == "plain \u00e9");
  CHECK(form("NFC", "xe\u0301y") == "x\u00e9y");
  CHECK(form("NFC", "e\u0301 e\u0301") == "\u00e9 \u00e9");
  // Dot below (class 220) before dot above (230), whatever their order was.
  CHECK(form("NFC", "s\u0307\u0323") == "\u1e69");
  CHECK(form("NFC", "\u1112\u1161\u11ab") == "\ud55c");
  CHECK(form("NFC", "\u212b") == "\u00c5");
  // Composition exclusion.
  CHECK(form("NFC", "\u0958") == "\u0915\u093c");
  CHECK(form("NFC", "\ufb01") == "\ufb01");
}

TEST_CASE("NFD, NFKC and NFKD: do what their names say", "[tokenizers]") {
  CHECK(form("NFD", "\u00e9") == "e\u0301");
  CHECK(form("NFKC", "\ufb01\u00bd") == "fi1\u20442");
  CHECK(form("NFKD", "\u00e9\ufb01") == "e\u0301fi");
}

TEST_CASE("Prepend and Replace: rewrite, and leave empty text empty", "[tokenizers]") {
  CHECK(normalized(R"({"type": "Prepend", "prepend": "_"})", "a") == "_a");
  CHECK(normalized(R"({"type": "Prepend", "prepend": "_"})", "").empty());
  CHECK(normalized(R"({"type": "Replace", "pattern": {"String": "aa"}, "content": "b"})", "aaa") ==
        "ba");
  CHECK(normalized(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})",
                   "a   b c") == "a b c");
  CHECK(normalized(R"({"type": "Sequence", "normalizers": [{"type": "NFC"},
                       {"type": "Prepend", "prepend": "_"}]})",
                   "a") == "_a");
}

}  // namespace quench::tokenizers
