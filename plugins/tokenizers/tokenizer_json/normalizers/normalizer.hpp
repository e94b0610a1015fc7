// Normalizers rewrite text before anything is matched in it but the non-normalized added tokens.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tokenizers/tokenizer_json/entry.hpp"

namespace quench::tokenizers {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Returns false when `text` is already in form and then leaves `out` and `from_first` alone. Of
  // the bytes of `text` the first `from_first` come from the first character of what the user
  // wrote, and then so do that many of `out`: what is put in for something counts with the last
  // byte that it replaces, or with the beginning. Throws Error where `out` would have more than
  // `limit` bytes, before it has them. Thread-safe.
  virtual bool apply(std::string_view text, size_t limit, std::string& out,
                     size_t& from_first) const = 0;
};

// By "type"; an unknown one is an error that names it.
std::unique_ptr<Normalizer> make_normalizer(const Entry& entry, int depth = 0);

std::unique_ptr<Normalizer> make_unicode_form(const std::string& type);
std::unique_ptr<Normalizer> make_prepend(const Entry& entry);
std::unique_ptr<Normalizer> make_replace(const Entry& entry);

}  // namespace quench::tokenizers
