// Writes the byte tokenizer as a file that other programs read.
#pragma once

#include <string>

namespace quench {

// A tokenizer.json in which the id of a byte is its value: byte-level BPE without merges.
std::string byte_tokenizer_json();

}  // namespace quench
