#include "tokenizers/sentencepiece/text_form.hpp"

#include "tokenizers/shared/text_bounds.hpp"
#include "tokenizers/shared/utf8.hpp"

namespace quench::tokenizers {

TextForm::TextForm(const SentencePieceFile& file, const PrefixTrie& user_defined,
                   const std::string& name)
    : user_defined_(user_defined),
      space_(file.escape_whitespaces ? "\u2581" : " "),
      prefix_(file.add_dummy_prefix && !file.whitespace_as_suffix),
      suffix_(file.add_dummy_prefix && file.whitespace_as_suffix),
      reduce_(file.remove_extra_whitespaces) {
  if (!file.charsmap.empty()) {
    charsmap_ = Charsmap(file.charsmap, name);
  }
}

// A string that the user defined, else the longest rule, else one character.
TextForm::Step TextForm::step(std::string_view text) const {
  if (!user_defined_.empty()) {
    if (const size_t length = user_defined_.longest(text).length) {
      return {text.substr(0, length), length};
    }
  }
  if (charsmap_.begins_rule(text[0])) {
    if (const Charsmap::Rule rule = charsmap_.longest(text); rule.length > 0) {
      return {rule.replacement, rule.length};
    }
  }
  const size_t length = sequence_length(text[0]);
  return {text.substr(0, length), length};
}

void TextForm::append(std::string_view part, std::string& out) const {
  size_t done = 0;
  for (size_t at = part.find(' '); at != std::string_view::npos; at = part.find(' ', done)) {
    out.append(part, done, at - done).append(space_);
    done = at + 1;
  }
  out.append(part, done);
}

// Nothing but spaces changes, and each by itself.
bool TextForm::is_plain() const {
  return charsmap_.empty() && !reduce_;
}

std::string TextForm::apply_plain(std::string_view text) const {
  std::string out;
  out.reserve(text.size() + text.size() / 2 + 2 * space_.size());
  if (prefix_) {
    out += space_;
  }
  append(text, out);
  if (suffix_) {
    out += space_;
  }
  return out;
}

std::string TextForm::apply(std::string_view text) const {
  if (is_plain() && !text.empty()) {
    return apply_plain(text);
  }
  const size_t limit = rewritten_limit(text.size());
  while (reduce_ && !text.empty()) {
    const Step first = step(text);
    if (first.out != " ") {
      break;
    }
    text.remove_prefix(first.length);
  }
  std::string out;
  if (text.empty()) {
    return out;
  }
  out.reserve(text.size() + text.size() / 2 + 2 * space_.size());
  if (prefix_) {
    out += space_;
  }
  bool after_space = reduce_;
  while (!text.empty()) {
    Step next = step(text);
    text.remove_prefix(next.length);
    while (after_space && next.out.starts_with(' ')) {
      next.out.remove_prefix(1);
    }
    if (!next.out.empty()) {
      append(next.out, out);
      after_space = reduce_ && next.out.ends_with(' ');
    }
    check_rewritten(out.size(), limit);
  }
  // Also what the text itself has of U+2581 goes at the end; so the reference has it.
  while (reduce_ && out.ends_with(space_)) {
    out.resize(out.size() - space_.size());
  }
  if (suffix_) {
    out += space_;
  }
  return out;
}

}  // namespace quench::tokenizers
