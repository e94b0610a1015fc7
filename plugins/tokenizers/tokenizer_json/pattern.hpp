// The patterns of Split and Replace: a literal string or a regular expression.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "tokenizers/tokenizer_json/entry.hpp"

namespace quench::tokenizers {

struct Match {
  size_t begin;
  size_t end;
};

class Pattern {
 public:
  virtual ~Pattern() = default;
  // Hands out the matches from left to right; they do not overlap, and an empty one never touches
  // the end of the one before. `text` is valid UTF-8. Thread-safe. Throws Error when a search
  // exceeds its limits, and what `take` throws.
  virtual void for_each_match(std::string_view text,
                              const std::function<void(const Match&)>& take) const = 0;
  // Appends them all.
  void find_all(std::string_view text, std::vector<Match>& matches) const {
    for_each_match(text, [&](const Match& match) { matches.push_back(match); });
  }
};

// From {"String": ...} or {"Regex": ...}.
std::unique_ptr<Pattern> make_pattern(const Entry& entry);

// A regular expression in the syntax of tokenizer.json. `entry` is what a complaint names.
std::unique_ptr<Pattern> make_regex(const Entry& entry);

// The same expression for PCRE2. Tokenizer files are written for Oniguruma in its Ruby syntax;
// what PCRE2 spells otherwise is translated, and what it would silently read otherwise is refused.
std::string translate_regex(const Entry& entry);

}  // namespace quench::tokenizers
