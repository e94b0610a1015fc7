// The config.json and tokenizer_config.json of published models, as they are.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/checkpoint/dtype.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/plugin/services/heard_warnings.hpp"
#include "run/manifest/described_model.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

namespace {

using nlohmann::json;

const json& published(const char* file) {
  static const json all =
      json::parse(read_file(source_dir() / "tests/data/published_configs.json"));
  return all.at(file);
}

// What the family warns of that opens the config.
std::vector<std::string> warnings_of(const json& config) {
  const HeardWarnings heard(HeardWarnings::Fate::kByInner);
  describe_config(built_catalog(), config.dump(), "config.json", "", kFloat32);
  return heard.lines();
}

// One config of each model_type.
std::vector<json> one_of_each() {
  std::vector<json> out;
  std::set<std::string> seen;
  for (const auto& [name, config] : published("config").items()) {
    if (seen.insert(config.at("model_type")).second) {
      out.push_back(config);
    }
  }
  return out;
}

struct Strictly {
  Strictly() { HeardWarnings::strict() = true; }
  ~Strictly() { HeardWarnings::strict() = false; }
};

// A tokenizer whose vocabulary ends before the added tokens, or has them where they lie in it.
std::string tokenizer_with(const json& config) {
  json vocabulary = json::object();
  json added = json::array();
  int64_t first = INT64_MAX;
  const json listed = config.value("added_tokens_decoder", json::object());
  for (const auto& [id, token] : listed.items()) {
    added.push_back(token);
    added.back()["id"] = std::stoll(id);
    first = std::min(first, int64_t{std::stoll(id)});
  }
  std::sort(added.begin(), added.end(), [](const json& a, const json& b) {
    return a.at("id").get<int64_t>() < b.at("id").get<int64_t>();
  });
  if (first == 0) {
    for (const json& token : added) {
      vocabulary[token.at("content")] = token.at("id");
    }
  } else {
    for (int64_t id = 0; id < (listed.empty() ? 4 : first); ++id) {
      vocabulary["\xC4\xA0" + std::to_string(id)] = id;
    }
  }
  json out = {{"version", "1.0"},
              {"added_tokens", added},
              {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", json::array()}}}};
  if (config.value("add_bos_token", false)) {
    const std::string bos = config.at("bos_token");
    out["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single",
         {{{"SpecialToken", {{"id", bos}, {"type_id", 0}}}},
          {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
        {"special_tokens",
         {{bos, {{"id", bos}, {"ids", {vocabulary.at(bos)}}, {"tokens", {bos}}}}}}};
  }
  return out.dump();
}

}  // namespace

TEST_CASE("published models: every config opens as it is, without a warning", "[models]") {
  for (const auto& [name, config] : published("config").items()) {
    CAPTURE(name);
    CHECK(warnings_of(config).empty());
  }
  CHECK(published("config").size() >= 40);
}

TEST_CASE("published models: of each family a key that nothing is known of is one warning",
          "[models]") {
  const std::vector<json> configs = one_of_each();
  CHECK(configs.size() == 17);
  for (json config : configs) {
    CAPTURE(config.at("model_type"));
    config["trained_on"] = "books";
    config["licence"] = {{"name", "free"}};
    CHECK(warnings_of(config) ==
          std::vector<std::string>{
              "config.json: licence, trained_on: not known, taken to change nothing"});
    const Strictly strictly;
    CHECK_THAT(message_of([&] { warnings_of(config); }),
               Catch::Contains("licence, trained_on: not known") && Catch::EndsWith("(--strict)"));
  }
}

TEST_CASE("published models: of each family a key that speaks of the forward is refused",
          "[models]") {
  for (json config : one_of_each()) {
    CAPTURE(config.at("model_type"));
    config["attn_output_multiplier"] = 0.5;
    CHECK_THAT(message_of([&] { warnings_of(config); }),
               Catch::Contains("attn_output_multiplier: not understood, and might change"));
    config["attn_output_multiplier"] = nullptr;
    CHECK(warnings_of(config).empty());
    config["use_mrope"] = true;
    CHECK_THAT(message_of([&] { warnings_of(config); }), Catch::Contains("use_mrope: not under"));
  }
}

TEST_CASE("published models: the larger Gemma 2 say their window twice", "[models]") {
  json config = published("config").at("google/gemma-2-9b");
  config["sliding_window_size"] = 1024;
  CHECK_THAT(message_of([&] { warnings_of(config); }),
             Catch::Contains("sliding_window_size = 1024 contradicts sliding_window = 4096"));
}

TEST_CASE("published models: tokenizer_config.json beside the tokenizer that it describes is taken",
          "[tokenizers]") {
  for (const auto& [name, config] : published("tokenizer_config").items()) {
    CAPTURE(name);
    const TemporaryDir folder;
    folder.write("tokenizer.json", tokenizer_with(config));
    folder.write("tokenizer_config.json", config.dump());
    Tokenizer tokenizer = Tokenizer::open(built_catalog(), folder / "tokenizer.json");
    const json listed = config.value("added_tokens_decoder", json::object());
    for (const auto& [id, token] : listed.items()) {
      CHECK(tokenizer.encode(token.at("content").get<std::string>(), false) ==
            std::vector<int32_t>{std::stoi(id)});
    }
    CHECK(tokenizer.encode("", true).size() == (config.value("add_bos_token", false) ? 1 : 0));
  }
}

}  // namespace quench::test
