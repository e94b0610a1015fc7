// Ids of the reference where another engine, or another order of the same steps, gives other ones.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/plugins/tokenizers/opened.hpp"
#include "tests/plugins/tokenizers/small_tokenizers.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::tokenizers {

namespace {

using nlohmann::json;

// Every case of tests/data/tokenizer_ids.json whose name begins so.
void check_reference(const std::string& beginning, size_t wanted) {
  const json all = json::parse(
      quench::test::read_file(quench::test::source_dir() / "tests/data/tokenizer_ids.json"));
  size_t found = 0;
  for (const json& one : all.at("cases")) {
    const auto name = one.at("name").get<std::string>();
    if (!name.starts_with(beginning)) {
      continue;
    }
    ++found;
    const json& shared = all.at("shared");
    const Tokenizer tokenizer = test::open(shared.at(one.at("file").get<size_t>()));
    const json& texts = shared.at(one.at("texts").get<size_t>());
    for (size_t i = 0; i < texts.size(); ++i) {
      INFO(name << ": " << texts[i].dump(-1, ' ', true));
      CHECK(tokenizer.encode(texts[i].get<std::string>(), false) ==
            one.at("ids").at(i).get<test::Ids>());
    }
  }
  CHECK(found >= wanted);
}

std::string refusal_of(const std::string& regex) {
  json file = test::byte_level_file({});
  file["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", regex}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  return test::refusal(file);
}

}  // namespace

TEST_CASE("regex: classes hold the characters that they hold in Oniguruma", "[tokenizers]") {
  check_reference("class ", 20);
  check_reference("space ", 9);
}

TEST_CASE("regex: words end where they end in Oniguruma", "[tokenizers]") {
  check_reference("words ", 9);
}

TEST_CASE("regex: what folds otherwise in Oniguruma is refused by name", "[tokenizers]") {
  using Catch::Contains;
  CHECK_THAT(refusal_of("(?i:miss)"), Contains("ss in (?i: at byte 7 is not supported"));
  CHECK_THAT(refusal_of("(?i:(?:S)s)"), Contains("ss in (?i:"));
  CHECK_THAT(refusal_of("(?i:s\\x73)"), Contains("ss in (?i:"));
  CHECK_THAT(refusal_of("(?i:a|fi)"), Contains("fi in (?i:"));
  CHECK_THAT(refusal_of("(?i:\u00df)"), Contains("(?i: beyond ASCII"));
  CHECK_THAT(refusal_of("(?i:[a-\u017f])"), Contains("(?i: beyond ASCII"));
  CHECK_THAT(refusal_of("(?i:\\u0149)"), Contains("(?i: beyond ASCII"));
  CHECK_THAT(refusal_of("(?i:[\\p{Lu}])"), Contains("\\p in a class in (?i:"));
  CHECK_THAT(refusal_of("[\\s\\W]"), Contains("\\W inside a class"));
  for (const char* same : {"ss", "(?i:s)s", "s(?i:s)", "(?i:s(?-i:s))", "(?i:s|s)", "(?i:s+s*)",
                           "(?i:[s]s)", "(?i:a)\u00df"}) {
    CHECK(refusal_of(same).empty());
  }
}

TEST_CASE("tokenizer: members that nothing here knows are one warning", "[tokenizers]") {
  json file = test::byte_level_file({});
  file["decoder"] = {{"type", "ByteLevel"}};
  file["model"]["cache_capacity"] = 100;
  const auto said = [&] {
    const size_t before = quench::test::logged().size();
    test::open(file);
    const std::vector<std::string> all = quench::test::logged();
    return std::vector<std::string>(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  };
  CHECK(said().empty());
  file["lang"] = "en";
  file["model"]["prune\n"] = true;
  CHECK(said() == std::vector<std::string>{
                      "small.json: lang, model.prune\\x0a: not known, taken to change no ids"});
}

TEST_CASE("metaspace: the text begins where its first character went", "[tokenizers]") {
  check_reference("place ", 70);
}

}  // namespace quench::tokenizers
