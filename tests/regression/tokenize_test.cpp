// `quench tokenize` against golden encodings.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace {

using json = nlohmann::json;

std::vector<json> read_lines(const std::string& text) {
  std::vector<json> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    out.push_back(json::parse(line));
  }
  return out;
}

std::string as_input(const std::vector<json>& golden) {
  std::string out;
  for (const json& line : golden) {
    out += line.at("text").dump() + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("tokenize: golden encodings come out, with and without special tokens", "[regression]") {
  const bool is_published = GENERATE(false, true);
  const auto tokenizer = is_published ? public_data("tokenizers/gpt-neox-20b.json")
                                      : fixture("tokenizers/neox/tokenizer.json");
  const auto file = fixture(is_published ? "tokenizers/real/gpt-neox-20b.golden.jsonl"
                                         : "tokenizers/neox/golden.jsonl");
  const std::vector<json> golden = read_lines(read_file(file));
  REQUIRE(golden.size() == 275);
  for (const bool special : {false, true}) {
    std::vector<std::string> arguments = {"tokenize", tokenizer.string()};
    if (special) {
      arguments.push_back("--special");
    }
    const Finished finished = run_quench(arguments, {}, as_input(golden));
    INFO(finished.err);
    REQUIRE(finished.code == 0);
    const std::vector<json> got = read_lines(finished.out);
    REQUIRE(got.size() == golden.size());
    for (size_t i = 0; i < golden.size(); ++i) {
      INFO(golden[i].at("text"));
      CHECK(got[i] == golden[i].at(special ? "ids_special" : "ids"));
    }
  }
}

TEST_CASE("tokenize: bytes are their own ids", "[regression]") {
  const Finished finished = run_quench({"tokenize", "bytes"}, {}, "\"A\\u00e9\\n\"\n\"\"\n");
  CHECK(finished.code == 0);
  CHECK(finished.out == "[65,195,169,10]\n[]\n");
}

TEST_CASE("tokenize: a line that is no JSON string fails by its number", "[regression]") {
  const Finished finished = run_quench({"tokenize", "bytes"}, {}, "\"ok\"\n17\n");
  CHECK(finished.code == 1);
  CHECK(finished.err == "line 2: got number, wanted a JSON string\n");
}

}  // namespace quench::test
