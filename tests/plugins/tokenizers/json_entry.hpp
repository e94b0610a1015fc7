// A part of a tokenizer.json as its readers get it.
#pragma once

#include <string>

#include "tests/support/test_host.hpp"
#include "tokenizers/tokenizer_json/entry.hpp"

namespace quench::tokenizers::test {

class Json {
 public:
  explicit Json(const std::string& text) : document_(text, "test") {}
  Entry entry() const { return {document_.root(), "test"}; }

 private:
  kit::JsonDocument document_;
};

}  // namespace quench::tokenizers::test
