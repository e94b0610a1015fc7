// The byte tokenizer as a file that other programs read.
#pragma once

#include <string>

namespace quench {

// A tokenizer.json whose id of a byte is its value: byte-level BPE without a merge.
std::string byte_tokenizer_json();

}  // namespace quench
