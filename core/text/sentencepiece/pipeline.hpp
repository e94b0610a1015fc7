// Text to ids as a tokenizer.model says.
#pragma once

#include <memory>

#include "core/text/tokenizer.hpp"

namespace quench::text {

// The ids are those of SentencePiece's encoder: control pieces in a text are ordinary text. With
// special tokens the piece that opens a text (bos_piece, <s>) stands before it, where there is one.
// `bytes` is the whole file, `name` stands for it in messages. Throws Error.
std::unique_ptr<Tokenizer::Pipeline> make_sentencepiece_pipeline(std::string_view bytes,
                                                                 const std::string& name);

}  // namespace quench::text
