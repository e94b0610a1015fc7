// Small tokenizer files, so that the tests mean something without reference data.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/plugins/tokenizers/opened.hpp"

namespace quench::tokenizers::test {

using Ids = std::vector<int32_t>;

// A byte-level file in NeoX's form. The id of a byte is its value, merge i makes id 256 + i.
// `merges` are "a b" in the alphabet of bytes.
nlohmann::json byte_level_file(const std::vector<std::string>& merges);

// A SentencePiece style file: <unk> 0, <s> 1, the bytes from 2 on, then the characters of
// " abcde" (the space as U+2581) from 258 on, then the merges.
nlohmann::json sentence_piece_file(const std::vector<std::string>& merges);

// An entry of added_tokens with all flags off.
nlohmann::json added_token(int id, const std::string& content);

Tokenizer open(const nlohmann::json& file);

// The message of the Error with which `file` is refused, or "".
std::string refusal(const nlohmann::json& file);
std::string refusal(const std::string& text);

}  // namespace quench::tokenizers::test
