#include "tests/plugins/tokenizers/small_tokenizers.hpp"

#include "tokenizers/tokenizer_json/byte_alphabet.hpp"

namespace quench::tokenizers::test {

namespace {

void add_merges(nlohmann::json& model, const std::vector<std::string>& merges) {
  auto next = static_cast<int>(model["vocab"].size());
  for (const std::string& merge : merges) {
    std::string whole = merge;
    whole.erase(whole.find(' '), 1);
    model["vocab"][whole] = next++;
  }
  model["merges"] = merges;
}

}  // namespace

nlohmann::json byte_level_file(const std::vector<std::string>& merges) {
  nlohmann::json file = nlohmann::json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
    "post_processor": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "vocab": {}, "merges": []}})");
  for (int byte = 0; byte < 256; ++byte) {
    file["model"]["vocab"][byte_character(static_cast<unsigned char>(byte))] = byte;
  }
  add_merges(file["model"], merges);
  return file;
}

nlohmann::json sentence_piece_file(const std::vector<std::string>& merges) {
  nlohmann::json file = nlohmann::json::parse(R"({
    "version": "1.0", "pre_tokenizer": null,
    "normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
    "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
              "vocab": {"<unk>": 0, "<s>": 1}}})");
  nlohmann::json& vocabulary = file["model"]["vocab"];
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary[fmt::format("<0x{:02X}>", byte)] = byte + 2;
  }
  int id = 258;
  for (const char* character : {"▁", "a", "b", "c", "d", "e"}) {
    vocabulary[character] = id++;
  }
  add_merges(file["model"], merges);
  return file;
}

nlohmann::json added_token(int id, const std::string& content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", false}};
}

Tokenizer open(const nlohmann::json& file) {
  return Tokenizer::from_json(file.dump(), "small.json");
}

std::string refusal(const std::string& text) {
  try {
    Tokenizer::from_json(text, "tokenizer.json");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string refusal(const nlohmann::json& file) {
  return refusal(file.dump());
}

}  // namespace quench::tokenizers::test
