#include "train/byte_tokenizer_file.hpp"

#include <nlohmann/json.hpp>

namespace quench {

namespace {

using nlohmann::ordered_json;

std::string utf8(unsigned code_point) {
  if (code_point < 0x80) {
    return {static_cast<char>(code_point)};
  }
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

}  // namespace

// Byte-level BPE writes a byte as a printable character: itself if it is one, else the next unused
// one from U+0100 on (Radford et al. 2019).
std::string byte_tokenizer_json() {
  ordered_json vocabulary;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool printable =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
    vocabulary[utf8(printable ? byte : next++)] = byte;
  }
  const ordered_json byte_level = {{"type", "ByteLevel"},
                                   {"add_prefix_space", false},
                                   {"trim_offsets", true},
                                   {"use_regex", true}};
  const ordered_json model = {{"type", "BPE"},
                              {"dropout", nullptr},
                              {"unk_token", nullptr},
                              {"continuing_subword_prefix", nullptr},
                              {"end_of_word_suffix", nullptr},
                              {"fuse_unk", false},
                              {"byte_fallback", false},
                              {"ignore_merges", false},
                              {"vocab", vocabulary},
                              {"merges", ordered_json::array()}};
  return ordered_json{{"version", "1.0"},
                      {"truncation", nullptr},
                      {"padding", nullptr},
                      {"added_tokens", ordered_json::array()},
                      {"normalizer", nullptr},
                      {"pre_tokenizer", byte_level},
                      {"post_processor", nullptr},
                      {"decoder", byte_level},
                      {"model", model}}
             .dump(2) +
         "\n";
}

}  // namespace quench
