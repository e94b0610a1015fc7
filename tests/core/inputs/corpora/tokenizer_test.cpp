#include "core/inputs/corpora/tokenizer.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/services/host_services.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

namespace {

using Ids = std::vector<int32_t>;

std::string byte_level_json() {
  const std::string seed = read_file(source_dir() / "tests/fuzz/seeds/tokenizer/byte_level.json");
  return seed.substr(0, seed.find('\xFF'));
}

std::string model() {
  return read_file(source_dir() / "tests/data/sentencepiece/bpe.model");
}

}  // namespace

TEST_CASE("tokenizer: bytes gives every byte its value", "[core][tokenizers]") {
  CHECK(Tokenizer::bytes().encode("a\xFF", true) == Ids{'a', 255});
  CHECK(Tokenizer::bytes().vocabulary_size() == 256);
  TextBatch batch;
  batch.add("ab");
  batch.add("");
  CHECK(Tokenizer::bytes().encode(batch, false).offsets == std::vector<uint64_t>{0, 2, 2});
}

TEST_CASE("tokenizer: the plugin that reads a file is chosen by its beginning and name",
          "[core][tokenizers]") {
  Catalog& catalog = built_catalog();
  const TemporaryDir folder;
  const auto plugin = [&](const char* name, const std::string& content) {
    return choose_tokenizer_plugin(catalog, folder.write(name, content)).id;
  };
  CHECK(plugin("any name", byte_level_json()) == "tokenizer_json");
  CHECK(plugin("tokenizer.json", byte_level_json()) == "tokenizer_json");
  CHECK(plugin("some.model", model()) == "sentencepiece");
  CHECK(plugin("my.words", "?\none\n") == "template_tokenizer");  // not shipped: asked in a child
  CHECK_THAT(message_of([&] { plugin("tokenizer.model", "IQ== 0\n"); }),
             Catch::Contains("tokenizer.model: no tokenizer reads this file; ") &&
                 Catch::Contains("sentencepiece: it does not begin with a piece of a ModelProto") &&
                 Catch::Contains("tokenizer_json: it does not begin with a JSON object"));
}

TEST_CASE("tokenizer: between plugins the largest score wins", "[core][tokenizers]") {
  Catalog& catalog = built_catalog();
  const TemporaryDir folder;
  const std::string like_a_model = "\n!\none\n";  // sentencepiece gives it a point
  CHECK(choose_tokenizer_plugin(catalog, folder.write("some.text", like_a_model)).id ==
        "sentencepiece");
  CHECK(choose_tokenizer_plugin(catalog, folder.write("my.words", like_a_model)).id ==
        "template_tokenizer");
  const auto named = folder.write("tokenizer.model", like_a_model);
  CHECK(choose_tokenizer_plugin(catalog, named).id == "sentencepiece");
}

TEST_CASE("tokenizer: the plugin that a user names reads the file", "[core][tokenizers]") {
  Catalog& catalog = built_catalog();
  const TemporaryDir folder;
  folder.write("tokenizer.json", byte_level_json());
  CHECK(read_tokenizer_name(catalog, "bytes").plugin == nullptr);
  CHECK(read_tokenizer_name(catalog, "hf://org/name").path == "hf://org/name");
  CHECK(read_tokenizer_name(catalog, "./a:b").path == "./a:b");
  folder.write("a:b", "x");
  CHECK(read_tokenizer_name(catalog, "a:b", folder.path()).path == "a:b");
  CHECK_THAT(message_of([&] { read_tokenizer_name(catalog, "template_tokeniser:x"); }),
             Catch::Contains("no tokenizer is called template_tokeniser; did you mean "
                             "template_tokenizer?"));
  const std::string file = take_tokenizer(
      catalog, read_tokenizer_name(catalog, "template_tokenizer:tokenizer.json"), folder.path());
  CHECK(file == (folder / "tokenizer.json").string());
  CHECK(TokenizerChoice(file, "").identity(catalog).plugin->id == "template_tokenizer");
  CHECK(Tokenizer::open(catalog, file).identity().plugin->id == "template_tokenizer");
  CHECK_THAT(
      message_of([&] {
        const std::string other = "sentencepiece:tokenizer.json";
        take_tokenizer(catalog, read_tokenizer_name(catalog, other), folder.path());
      }),
      Catch::Contains("tokenizer.json: got the plugins template_tokenizer and sentencepiece, "
                      "wanted one for a file"));
  CHECK_THAT(message_of([&] { take_tokenizer(catalog, {"tokenizer.json"}, folder.path()); }),
             Catch::Contains("tokenizer.json: got the plugins template_tokenizer and none, wanted "
                             "one for a file"));
  catalog.tokenizers().clear();
  CHECK(take_tokenizer(catalog, {"tokenizer.json"}, folder.path()) == file);
  CHECK_THAT(message_of([&] {
               const std::string named = "template_tokenizer:tokenizer.json";
               take_tokenizer(catalog, read_tokenizer_name(catalog, named), folder.path());
             }),
             Catch::Contains("tokenizer.json: got the plugins none and template_tokenizer, wanted "
                             "one for a file"));
  CHECK(Tokenizer::open(catalog, file).identity().plugin->id == "tokenizer_json");
}

TEST_CASE("tokenizer: special tokens are refused where tokenizer_config.json and the file differ",
          "[core][tokenizers]") {
  const TemporaryDir folder;
  const auto file = [&](const nlohmann::json& single) {
    nlohmann::json json = nlohmann::json::parse(byte_level_json());
    json["added_tokens"] = nlohmann::json::array();
    json["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"c", 2}, {"x", 3}};
    json["model"]["merges"] = nlohmann::json::array();
    json["post_processor"] = nlohmann::json();
    if (!single.empty()) {
      json["post_processor"] = {
          {"type", "TemplateProcessing"},
          {"single", single},
          {"special_tokens",
           {{"a", {{"id", "a"}, {"ids", {0}}}}, {"b", {{"id", "b"}, {"ids", {1}}}}}}};
    }
    folder.write("tokenizer.json", json.dump());
  };
  const auto fault = [&](const std::string& config) {
    folder.write("tokenizer_config.json", config);
    Tokenizer tokenizer = Tokenizer::open(built_catalog(), folder / "tokenizer.json");
    CHECK(tokenizer.encode("x", false) == Ids{3});  // without them nothing is in doubt
    const std::string message = message_of([&] { tokenizer.encode("x", true); });
    const std::string start = (folder / "tokenizer_config.json").string() + ": ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  };
  const nlohmann::json text = {{"Sequence", {{"id", "A"}}}};
  const nlohmann::json a = {{"SpecialToken", {{"id", "a"}}}};
  const nlohmann::json b = {{"SpecialToken", {{"id", "b"}}}};
  const std::string none_before = "and the tokenizer's file puts no such token before a text";
  file({});
  CHECK(fault(R"({"add_bos_token": true, "bos_token": "a"})") ==
        "add_bos_token is true, " + none_before + ": make the two agree");
  CHECK(fault(R"({"add_bos_token": true})").starts_with("add_bos_token is true, " + none_before));
  CHECK(fault(R"({"add_eos_token": true, "eos_token": {"content": "b"}})") ==
        "add_eos_token is true, and the tokenizer's file puts no such token behind a text: make "
        "the two agree");
  CHECK(fault(R"({"add_bos_token": false, "add_eos_token": null, "bos_token": "a"})").empty());
  CHECK(fault("[]").empty());
  file({a, text});
  CHECK(fault(R"({"add_bos_token": true, "bos_token": {"content": "a"}})").empty());
  CHECK(fault(R"({"add_bos_token": true, "bos_token": "a", "add_eos_token": false,
                  "eos_token": "b"})")
            .empty());
  CHECK(fault(R"({"add_bos_token": false, "bos_token": "a"})") ==
        "add_bos_token is false, and the tokenizer's file puts 'a' before a text: make the two "
        "agree");
  CHECK(fault(R"({"add_bos_token": true, "bos_token": "c"})").starts_with("add_bos_token is true"));
  file({a, text, b});
  CHECK(fault(R"({"add_bos_token": true, "bos_token": "a", "add_eos_token": true,
                  "eos_token": "b"})")
            .empty());
  CHECK(fault(R"({"add_eos_token": false, "eos_token": "b"})") ==
        "add_eos_token is false, and the tokenizer's file puts 'b' behind a text: make the two "
        "agree");
}

TEST_CASE("tokenizer: added tokens that tokenizer_config.json has otherwise are refused by name",
          "[core][tokenizers]") {
  const TemporaryDir folder;
  nlohmann::json json = nlohmann::json::parse(byte_level_json());
  json["model"]["vocab"] = {{"a", 0}, {"b", 1}, {"c", 2}, {"x", 3}};
  json["model"]["merges"] = nlohmann::json::array();
  json["post_processor"] = nlohmann::json();
  json["added_tokens"] = nlohmann::json::array();
  for (const auto& [id, content] : {std::pair{4, "<s>"}, std::pair{5, "<pad>"}}) {
    json["added_tokens"].push_back({{"id", id},
                                    {"content", content},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
  }
  const auto fault = [&](const nlohmann::json& listed) {
    folder.write("tokenizer.json", json.dump());
    folder.write("tokenizer_config.json", nlohmann::json{{"added_tokens_decoder", listed}}.dump());
    const std::string message =
        message_of([&] { Tokenizer::open(built_catalog(), folder / "tokenizer.json"); });
    const std::string start =
        (folder / "tokenizer_config.json").string() + ": added_tokens_decoder: ";
    return message.starts_with(start) ? message.substr(start.size()) : message;
  };
  CHECK(fault({{"4", {{"content", "<s>"}}}, {"5", {{"content", "<pad>"}}}}).empty());
  CHECK(fault({{"4", {{"content", "<s>"}}}}).empty());  // says nothing of the other
  CHECK(fault({{"4", 7}, {"5", {{"content", ""}}}}).empty());
  CHECK(fault({{"5", {{"content", "<s>"}}}, {"4", {{"content", "<pad>"}}}}) ==
        "'<pad>' has id 4, and in the tokenizer's file id 5: make the two agree");
  CHECK(fault({{"6", {{"content", "ab"}}}}) ==
        "'ab' has id 6, and in the tokenizer's file there is no such token: make the two agree");
  CHECK(fault({{"six", {{"content", "<s>"}}}}) ==
        "'<s>' has id six, and in the tokenizer's file id 4: make the two agree");
  CHECK(fault({{"6", {{"content", "<zz>"}}}})
            .ends_with("there is no such token: make the two agree"));
}

TEST_CASE("tokenizer: of a folder the file that has a tokenizer's name is taken",
          "[core][tokenizers]") {
  Catalog& catalog = built_catalog();
  const TemporaryDir folder;
  folder.write("config.json", "{}");
  folder.write("model.safetensors", "x");
  CHECK(message_of([&] { tokenizer_file(catalog, folder.path()); }) ==
        folder.path().string() + ": has no file of a tokenizer");
  const auto unread = [&](const std::string& content) {
    folder.write("tokenizer.json", content);
    return message_of([&] { tokenizer_file(catalog, folder.path()); }, folder.path());
  };
  CHECK(unread("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n") ==
        "tokenizer.json: a Git LFS pointer, not the file itself; `git lfs pull` fetches it");
  CHECK_THAT(unread("<html>"), Catch::StartsWith("tokenizer.json: no tokenizer reads this file; "));
  std::filesystem::remove(folder / "tokenizer.json");
  const auto words = folder.write("tokenizer.words", "?\n");
  CHECK(tokenizer_file(catalog, folder.path()) == words);
  const auto spm = folder.write("tokenizer.model", model());
  CHECK(tokenizer_file(catalog, folder.path()) == spm);
  const auto json = folder.write("tokenizer.json", byte_level_json());
  CHECK(tokenizer_file(catalog, folder.path()) == json);
  CHECK(tokenizer_file(catalog, spm) == spm);
}

TEST_CASE("tokenizer: a file is read from disk, and what is no file is named",
          "[core][tokenizers]") {
  Catalog& catalog = built_catalog();
  const TemporaryDir folder;
  CHECK(Tokenizer::open(catalog, folder.write("tokenizer.json", byte_level_json()))
            .encode("b", false)
            .size() == 1);
  const auto missing = folder / "missing.json";
  CHECK(message_of([&] { Tokenizer::open(catalog, missing); }) ==
        missing.string() + ": cannot be opened: No such file or directory");
  const std::string pipe = folder / "pipe.json";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(message_of([&] { Tokenizer::open(catalog, pipe); }, folder.path()) ==
        "pipe.json: is a pipe, wanted a file");
  const auto broken = folder.write("tokenizer.model", model().substr(0, 100));
  CHECK_THAT(message_of([&] { Tokenizer::open(catalog, broken); }),
             Catch::StartsWith("tokenizer sentencepiece: " + broken.string() + ": "));
}

TEST_CASE("tokenizer: threads of the run change no id", "[core][tokenizers]") {
  Catalog& catalog = built_catalog();
  const TemporaryDir folder;
  Tokenizer tokenizer = Tokenizer::open(catalog, folder.write("tokenizer.model", model()));
  TextBatch batch;
  for (int i = 0; i < 5000; ++i) {
    batch.add("Two households, both alike in dignity, number " + std::to_string(i * i));
  }
  HostServices::instance().set_threads(1);
  const EncodedBatch alone = tokenizer.encode(batch, true);
  HostServices::instance().set_threads(4);
  const EncodedBatch together = tokenizer.encode(batch, true);
  HostServices::instance().set_threads(1);
  CHECK(together.ids == alone.ids);
  CHECK(together.offsets == alone.offsets);
  batch.add("\xff");
  CHECK(message_of([&] { tokenizer.encode(batch, true); }) ==
        "tokenizer sentencepiece: document 5000: text: byte 0 (0xff) is not valid UTF-8");
}

TEST_CASE("tokenizer identity: file and plugin", "[core][tokenizers]") {
  Catalog& catalog = built_catalog();
  const TemporaryDir folder;
  CHECK(TokenizerChoice("bytes", "").identity(catalog).key() == "bytes");
  CHECK(TokenizerChoice(std::nullopt, "").identity(catalog).key() == "none");
  const auto path = folder.write("tokenizer.model", model());
  const TokenizerIdentity identity = TokenizerChoice(path.string(), "").identity(catalog);
  REQUIRE(identity.plugin != nullptr);
  CHECK(identity.plugin->id == "sentencepiece");
  CHECK(
      identity.key().starts_with(identity.file + " sentencepiece " + identity.plugin->code.dump()));
  CHECK(TokenizerChoice::beside(catalog, folder.path()).identity(catalog).key() == identity.key());
}

TEST_CASE("tokenizer choice: a file that is replaced after it was hashed is refused",
          "[core][tokenizers]") {
  Catalog& catalog = built_catalog();
  const TemporaryDir folder;
  const auto path = folder.write("tokenizer.json", byte_level_json());
  TokenizerChoice choice(path.string(), "");
  const TokenizerIdentity hashed = choice.identity(catalog);
  folder.write("tokenizer.json", byte_level_json() + "\n");
  CHECK_THAT(message_of([&] { choice.get(catalog); }, folder.path()),
             Catch::StartsWith("tokenizer.json: the tokenizer was replaced before it was read"));
  TokenizerChoice later(path.string(), "");
  CHECK(later.get(catalog).encode("b", false).size() == 1);
  CHECK(later.identity(catalog).file != hashed.file);  // of what was read
  later = TokenizerChoice(path.string(), "");
  later.set_identity(hashed);
  CHECK_THROWS_WITH(later.get(catalog), Catch::Contains("run the command again"));
}

}  // namespace quench::test
