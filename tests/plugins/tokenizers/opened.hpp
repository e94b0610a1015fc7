// A tokenizer of a plugin, linked into the test.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quench/kit/tokenizer.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"
#include "tokenizers/sentencepiece/pipeline.hpp"
#include "tokenizers/tokenizer_json/pipeline.hpp"

namespace quench::tokenizers {

// Copies share what they read.
class Tokenizer {
 public:
  static Tokenizer from_json(std::string_view text, const std::string& name) {
    return Tokenizer(std::make_shared<JsonPipeline>(text, name));
  }
  static Tokenizer from_sentencepiece(std::string_view bytes, const std::string& name) {
    return Tokenizer(std::make_shared<SentencePiecePipeline>(bytes, name));
  }
  // By the ending of its name.
  static Tokenizer from_file(const std::filesystem::path& path) {
    const std::string content = quench::test::read_file(path);
    return path.extension() == ".model" ? from_sentencepiece(content, path.string())
                                        : from_json(content, path.string());
  }

  std::vector<int32_t> encode(std::string_view text, bool add_special) const {
    return tokenizer_->encode(text, add_special);
  }
  size_t vocabulary_size() const { return tokenizer_->vocabulary_size(); }

 private:
  explicit Tokenizer(std::shared_ptr<const kit::Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  std::shared_ptr<const kit::Tokenizer> tokenizer_;
};

}  // namespace quench::tokenizers
