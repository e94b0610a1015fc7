// The tokenizer that turns the run's text into ids: one for the whole run, or each checkpoint's
// own.
#pragma once

#include <optional>
#include <string>

#include "core/text/tokenizer.hpp"

namespace quench {

class TokenizerChoice {
 public:
  // `path`: a tokenizer.json or tokenizer.model, "bytes", or nothing.
  explicit TokenizerChoice(std::optional<std::string> path, std::string missing_message);
  // Throws Error with the message of the constructor when there is none.
  const text::Tokenizer& get();
  // What tells it from another one: SHA-256 of its file, or "bytes".
  std::string key();

 private:
  std::optional<std::string> path_;
  std::string missing_message_;
  std::optional<text::Tokenizer> tokenizer_;
};

}  // namespace quench
