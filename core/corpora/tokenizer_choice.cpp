#include "core/corpora/tokenizer_choice.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/io/file.hpp"
#include "core/io/sha256.hpp"

namespace quench {

TokenizerChoice::TokenizerChoice(std::optional<std::string> path, std::string missing_message)
    : path_(std::move(path)), missing_message_(std::move(missing_message)) {}

const text::Tokenizer& TokenizerChoice::get() {
  if (!path_) {
    fail(QUENCH_NOT_FOUND, "{}", missing_message_);
  }
  if (!tokenizer_) {
    tokenizer_ = *path_ == "bytes" ? text::Tokenizer::bytes() : text::Tokenizer::from_file(*path_);
  }
  return *tokenizer_;
}

std::string TokenizerChoice::key() {
  if (!path_ || *path_ == "bytes") {
    return path_.value_or("none");
  }
  return sha256_of(File(*path_));
}

}  // namespace quench
