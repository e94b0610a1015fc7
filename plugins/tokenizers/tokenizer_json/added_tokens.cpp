#include "tokenizers/tokenizer_json/added_tokens.hpp"

#include <algorithm>

#include "tokenizers/shared/utf8.hpp"
#include "tokenizers/tokenizer_json/character_class.hpp"
#include "tokenizers/tokenizer_json/limits.hpp"

namespace quench::tokenizers {

namespace {

size_t byte_of(char c) {
  return static_cast<unsigned char>(c);
}

bool touches_word(std::string_view text, size_t begin, size_t end) {
  if (begin > 0) {
    size_t before = previous(text, begin);
    if (is_word_character(decode(text, before))) {
      return true;
    }
  }
  size_t after = end;
  return end < text.size() && is_word_character(decode(text, after));
}

// The beginning of the white space that ends at `end`, not before `limit`.
size_t space_before(std::string_view text, size_t end, size_t limit) {
  while (end > limit) {
    const size_t begin = previous(text, end);
    size_t after = begin;
    if (!is_space(decode(text, after))) {
      break;
    }
    end = begin;
  }
  return end;
}

// The end of the white space that begins at `begin`.
size_t space_after(std::string_view text, size_t begin) {
  while (begin < text.size()) {
    size_t after = begin;
    if (!is_space(decode(text, after))) {
      break;
    }
    begin = after;
  }
  return begin;
}

}  // namespace

AddedToken read_added_token(const Entry& entry) {
  const auto flag = [&](std::string_view key) { return entry.member(key).boolean(); };
  AddedToken token;
  token.id = entry.member("id").id();
  token.content = entry.member("content").string();
  if (token.content.empty() || token.content.size() > kAddedTokenLimitBytes) {
    entry.member("content").reject("wanted 1 to {} bytes, got {}", kAddedTokenLimitBytes,
                                   token.content.size());
  }
  token.single_word = flag("single_word");
  token.lstrip = flag("lstrip");
  token.rstrip = flag("rstrip");
  token.normalized = flag("normalized");
  return token;
}

AddedTokenMatcher::AddedTokenMatcher() {
  roots_.fill(-1);
}

int32_t AddedTokenMatcher::child(int32_t node, char byte) const {
  int32_t next = nodes_[static_cast<size_t>(node)].first_child;
  while (next >= 0 && nodes_[static_cast<size_t>(next)].byte != byte) {
    next = nodes_[static_cast<size_t>(next)].next_sibling;
  }
  return next;
}

void AddedTokenMatcher::add(const AddedToken& token) {
  const std::string& content = token.content;
  const size_t first = byte_of(content[0]);
  first_.set(first);
  if (content.size() > 1) {
    first_two_.set(first << 8 | byte_of(content[1]));
  } else {
    for (size_t second = 0; second < 256; ++second) {
      first_two_.set(first << 8 | second);
    }
  }
  if (roots_[first] < 0) {
    roots_[first] = static_cast<int32_t>(nodes_.size());
    nodes_.push_back({.byte = content[0]});
  }
  int32_t node = roots_[first];
  for (size_t i = 1; i < content.size(); ++i) {
    int32_t next = child(node, content[i]);
    if (next < 0) {
      next = static_cast<int32_t>(nodes_.size());
      Node& parent = nodes_[static_cast<size_t>(node)];
      const int32_t sibling = parent.first_child;
      parent.first_child = next;
      nodes_.push_back({.next_sibling = sibling, .byte = content[i]});
    }
    node = next;
  }
  nodes_[static_cast<size_t>(node)].token = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(token);
}

size_t AddedTokenMatcher::candidate(std::string_view text, size_t from) const {
  for (size_t i = from; i + 1 < text.size(); ++i) {
    const size_t first = byte_of(text[i]);
    if (first_[first] && first_two_[first << 8 | byte_of(text[i + 1])]) {
      return i;
    }
  }
  return from < text.size() && first_[byte_of(text.back())] ? text.size() - 1 : text.size();
}

int32_t AddedTokenMatcher::longest(std::string_view text, size_t begin) const {
  int32_t found = -1;
  int32_t node = roots_[byte_of(text[begin])];
  for (size_t i = begin + 1; node >= 0; ++i) {
    const int32_t token = nodes_[static_cast<size_t>(node)].token;
    found = token >= 0 ? token : found;
    if (i == text.size()) {
      break;
    }
    node = child(node, text[i]);
  }
  return found;
}

void AddedTokenMatcher::split(std::string_view text, std::vector<Segment>& segments) const {
  size_t done = 0;
  // The end of the white space that an rstrip token took last, so that no run is measured twice.
  size_t space_end = 0;
  for (size_t at = tokens_.empty() ? text.size() : candidate(text, 0); at < text.size();) {
    const int32_t index = longest(text, at);
    if (index < 0) {
      at = candidate(text, at + 1);
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(index)];
    size_t begin = at;
    size_t end = at + token.content.size();
    at = candidate(text, end);
    if (token.single_word && touches_word(text, begin, end)) {
      continue;
    }
    if (token.lstrip) {
      begin = std::max(done, space_before(text, begin, done));
    }
    if (token.rstrip) {
      space_end = end < space_end ? space_end : space_after(text, end);
      end = space_end;
    }
    if (done < begin) {
      segments.push_back({done, begin});
    }
    // Tokens inside white space that is taken already count, unless stripping leaves nothing of
    // them; the text goes on after them. So the reference has it.
    if (begin < end) {
      segments.push_back({begin, end, token.id});
    }
    done = end;
  }
  if (done < text.size()) {
    segments.push_back({done, text.size()});
  }
}

}  // namespace quench::tokenizers
