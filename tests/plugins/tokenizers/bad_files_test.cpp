// Tokenizer files that must be refused, each with the words it must be refused with.
#include <catch2/catch.hpp>

#include "tests/plugins/tokenizers/small_tokenizers.hpp"

namespace quench::tokenizers {

namespace {

struct Bad {
  // A JSON patch (RFC 7386 merge patch) of a good file, and the message without the file's name.
  const char* patch;
  const char* message;
};

const Bad kComponents[] = {
    {R"({"version": "2.0"})", R"(version: wanted "1.0", got string "2.0")"},
    {R"({"normalizer": {"type": "BertNormalizer"}})",
     R"(normalizer: type "BertNormalizer" is not supported; supported: NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence)"},
    {R"({"normalizer": {"type": 7}})", "normalizer.type: wanted a string, got number 7"},
    {R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Odd"}]}})",
     R"(normalizer.normalizers[1]: type "Odd" is not supported; supported: NFC, NFD, NFKC, NFKD, Prepend, Replace, Sequence)"},
    {R"({"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "x"}})",
     "normalizer.pattern.String: wanted 1 to 65536 bytes, got 0"},
    {R"({"normalizer": {"type": "Prepend"}})", R"(normalizer: no "prepend")"},
    {R"({"pre_tokenizer": {"type": "X"}})",
     R"(pre_tokenizer: type "X" is not supported; supported: ByteLevel, Digits, Metaspace, Sequence, Split)"},
    {R"({"pre_tokenizer": {"add_prefix_space": "no"}})",
     R"(pre_tokenizer.add_prefix_space: wanted true or false, got string "no")"},
    {R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel",
         "add_prefix_space": false}, {"type": "Digits", "individual_digits": true}]}})",
     "pre_tokenizer.pretokenizers[1]: a pre-tokenizer after ByteLevel is not supported"},
    {R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated",
         "invert": false}})",
     R"(pre_tokenizer.pattern.Regex: regular expression "(a": missing closing parenthesis)"},
    {R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?<=a*)b"},
         "behavior": "Isolated", "invert": false}})",
     R"(pre_tokenizer.pattern.Regex: regular expression "(?<=a*)b": lookbehind assertion is not fixed length)"},
    {R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a\\Kb"},
         "behavior": "Isolated", "invert": false}})",
     R"(pre_tokenizer.pattern.Regex: regular expression: \K at byte 1 is not supported)"},
    {R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[a&&b]"},
         "behavior": "Isolated", "invert": false}})",
     "pre_tokenizer.pattern.Regex: regular expression: && at byte 2 is not supported"},
    {R"({"pre_tokenizer": {"type": "Split", "pattern": {"String": "a"}, "behavior": "Sideways",
         "invert": false}})",
     R"(pre_tokenizer.behavior: "Sideways" is not supported; supported: Contiguous, Isolated, MergedWithNext, MergedWithPrevious, Removed)"},
    {R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}})",
     R"(pre_tokenizer.replacement: wanted one character, got string "ab")"},
    {R"({"post_processor": {"type": "BertProcessing"}})",
     R"(post_processor: type "BertProcessing" is not supported; supported: ByteLevel, Sequence, TemplateProcessing)"},
    {R"({"post_processor": {"type": "TemplateProcessing", "special_tokens": {},
         "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]}})",
     R"(post_processor.single[0].SpecialToken.id: "<s>" is not in special_tokens)"},
    {R"({"post_processor": {"type": "TemplateProcessing", "special_tokens": {"<s>": {"ids": [999]}},
         "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}]}})",
     "post_processor.special_tokens.<s>.ids[0]: id 999 is not in the vocabulary, whose last id is "
     "256"},
    {R"({"post_processor": {"type": "TemplateProcessing", "single": [], "special_tokens": {}}})",
     R"(post_processor.single: wanted the text "A" once, got none)"},
};

const Bad kModels[] = {
    {R"({"model": null})", R"(no "model")"},
    {R"({"model": {"type": "Unigram"}})",
     R"(model: type "Unigram" is not supported; supported: BPE)"},
    {R"({"model": {"dropout": 0.1}})",
     "model.dropout: wanted null, got number 0.1: random encodings are not supported"},
    {R"({"model": {"end_of_word_suffix": "</w>"}})",
     R"(model.end_of_word_suffix: wanted null or "", got string "</w>")"},
    {R"({"model": {"unk_token": "<unk>"}})",
     R"(model.unk_token: "<unk>" is not in the vocabulary)"},
    {R"({"model": {"vocab": ["a"]}})", "model.vocab: wanted an object with entries, got array"},
    {R"({"model": {"vocab": {"x": -1}}})",
     R"(model.vocab: "x": wanted an id from 0 to 16777215, got number -1)"},
    {R"({"model": {"vocab": {"x": 16777216}}})",
     R"(model.vocab: "x": wanted an id from 0 to 16777215, got number 16777216)"},
    {R"({"model": {"vocab": {"x": 1.5}}})",
     R"(model.vocab: "x": wanted an id from 0 to 16777215, got number 1.5)"},
    {R"({"model": {"vocab": {"ab": 97}}})",
     R"(model.vocab: "ab": id 97 is taken by another entry)"},
    {R"({"model": {"merges": {}}})", "model.merges: wanted an array, got object"},
    {R"({"model": {"merges": ["a b", 7]}})",
     R"(model.merges: merge 1: wanted "a b" or ["a", "b"], got number 7)"},
    {R"({"model": {"merges": ["a b c"]}})",
     R"(model.merges: merge 0: wanted "a b" or ["a", "b"], got string "a b c")"},
    {R"({"model": {"merges": [["a", "b", "c"]]}})",
     R"(model.merges: merge 0: wanted "a b" or ["a", "b"], got array)"},
    {R"({"model": {"merges": ["a zz"]}})",
     R"(model.merges: merge 0: "zz" is not in the vocabulary)"},
    {R"({"model": {"merges": ["a c"]}})",
     R"(model.merges: merge 0: "ac" is not in the vocabulary)"},
};

const Bad kAddedTokens[] = {
    {R"({"added_tokens": {}})", "added_tokens: wanted an array, got object"},
    {R"({"added_tokens": [{"id": 257}]})", R"(added_tokens[0]: no "content")"},
    {R"({"added_tokens": [{"id": 300, "content": "<x>", "single_word": false, "lstrip": false,
         "rstrip": false, "normalized": false}]})",
     R"(added_tokens[0]: "<x>": id 300, wanted 257, the next free one)"},
    {R"({"added_tokens": [{"id": 257, "content": "ab", "single_word": false, "lstrip": false,
         "rstrip": false, "normalized": false}]})",
     R"(added_tokens[0]: "ab": id 257, wanted 256, its id in the vocabulary)"},
    {R"({"added_tokens": [{"id": 257, "content": "", "single_word": false, "lstrip": false,
         "rstrip": false, "normalized": false}]})",
     "added_tokens[0].content: wanted 1 to 1024 bytes, got 0"},
    {R"({"added_tokens": [{"id": 256, "content": "ab", "single_word": false, "lstrip": false,
         "rstrip": false, "normalized": false}, {"id": 256, "content": "ab", "single_word": false,
         "lstrip": false, "rstrip": false, "normalized": false}]})",
     R"(added_tokens[1]: "ab" is there twice)"},
};

void check(const Bad& bad) {
  auto file = test::byte_level_file({"a b"});
  REQUIRE(test::refusal(file).empty());
  file.merge_patch(nlohmann::json::parse(bad.patch));
  CHECK(test::refusal(file) == std::string("tokenizer.json: ") + bad.message);
}

}  // namespace

TEST_CASE("tokenizer.json: unknown and malformed components are named", "[tokenizers]") {
  for (const Bad& bad : kComponents) {
    check(bad);
  }
}

TEST_CASE("tokenizer.json: malformed models are refused with the entry", "[tokenizers]") {
  for (const Bad& bad : kModels) {
    check(bad);
  }
}

TEST_CASE("tokenizer.json: malformed added tokens are refused with the entry", "[tokenizers]") {
  for (const Bad& bad : kAddedTokens) {
    check(bad);
  }
}

TEST_CASE("tokenizer.json: what is no JSON is refused with the file's name", "[tokenizers]") {
  for (const std::string text :
       {"", "{", "{\"model\": \"\xFF\"}", "[1] 2", "nul", R"({"model": 1, "model": 2})",
        R"({"model": {"vocab": {"a": 0, "a": 1}}})"}) {
    INFO(text);
    CHECK_THAT(test::refusal(text), Catch::StartsWith("tokenizer.json:"));
  }
  CHECK(test::refusal(std::string("[]")) == "tokenizer.json: wanted an object, got array");
}

TEST_CASE("tokenizer.json: cut anywhere it is refused", "[tokenizers]") {
  const std::string whole = test::byte_level_file({"a b"}).dump();
  for (size_t size = 0; size < whole.size(); ++size) {
    CHECK_THAT(test::refusal(whole.substr(0, size)), Catch::StartsWith("tokenizer.json:"));
  }
}

TEST_CASE("tokenizer.json: sequences nested without end are refused", "[tokenizers]") {
  const auto nested = [](int depth) {
    std::string text = R"({"type": "NFC"})";
    for (int i = 0; i < depth; ++i) {
      text = R"({"type": "Sequence", "normalizers": [)" + text + "]}";
    }
    auto file = test::byte_level_file({});
    file["normalizer"] = nlohmann::json::parse(text);
    return test::refusal(file);
  };
  CHECK(nested(8).empty());
  CHECK_THAT(nested(9), Catch::EndsWith("[0]: sequences are nested deeper than 8"));
}

TEST_CASE("tokenizer.json: a megabyte of pattern is refused", "[tokenizers]") {
  auto file = test::byte_level_file({});
  file["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", std::string(1 << 20, 'a')}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  CHECK(test::refusal(file) ==
        "tokenizer.json: pre_tokenizer.pattern.Regex: wanted at most 65536 bytes, got 1048576");
}

}  // namespace quench::tokenizers
