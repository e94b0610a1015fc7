// The components of a tokenizer.json, in the order in which text passes them.
#pragma once

#include <memory>

#include "core/text/added_tokens.hpp"
#include "core/text/models/model.hpp"
#include "core/text/normalizers/normalizer.hpp"
#include "core/text/post_processors/post_processor.hpp"
#include "core/text/pre_tokenizers/pre_tokenizer.hpp"
#include "core/text/tokenizer.hpp"

namespace quench::text {

class Tokenizer::Pipeline {
 public:
  virtual ~Pipeline() = default;
  virtual std::vector<int32_t> encode(std::string_view text, bool add_special_tokens) const = 0;
  virtual size_t vocabulary_size() const = 0;
};

// Throws Error when a text is longer than kTextLimitBytes or not UTF-8, with the offset.
void check_text(std::string_view text);

// `root` is the whole file.
std::unique_ptr<Tokenizer::Pipeline> make_pipeline(const Entry& root);

}  // namespace quench::text
