#include "tokenizers/sentencepiece/charsmap.hpp"

#include <algorithm>
#include <array>

#include "tokenizers/shared/message.hpp"
#include "tokenizers/shared/utf8.hpp"

namespace quench::tokenizers {

namespace {

// The largest map that SentencePiece comes with, nmt_nfkc_cf, has 0.3 MB.
constexpr size_t kBlobLimitBytes = size_t{1} << 21;
// In Unicode's foldings a key has a few characters with their marks, and U+FDFA becomes 33 bytes.
constexpr size_t kKeyLimitBytes = 256;
constexpr size_t kReplacementLimitBytes = 1024;

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

Charsmap::Charsmap(std::string_view blob, const std::string& name) {
  if (blob.size() > kBlobLimitBytes) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: charsmap: {} bytes, wanted at most {}", name, blob.size(),
         kBlobLimitBytes);
  }
  const uint32_t trie_bytes = blob.size() < 4 ? 0 : little_endian(blob);
  if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes > blob.size() - 4) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: charsmap: a trie of {} bytes, in a map of {}", name,
         trie_bytes, blob.size());
  }
  units_.reserve(trie_bytes / 4);
  for (size_t i = 0; i < trie_bytes; i += 4) {
    units_.push_back(little_endian(blob.substr(4 + i)));
  }
  replacements_ = blob.substr(4 + trie_bytes);
  check(name);
  for (uint32_t byte = 1; byte < 256; ++byte) {
    const uint32_t at = offset(units_[0]) ^ byte;
    first_[byte] = at < units_.size() && label(units_[at]) == byte;
  }
}

// Visits what look-ups can reach: units, each with how much of a character has been read. Keys that
// end alike share units, so there are more paths than units; a forged array may go in circles.
void Charsmap::check(const std::string& name) const {
  std::vector<std::array<bool, Utf8State::kStates>> seen(units_.size());
  struct Step {
    uint32_t base;  // children are at base ^ byte
    Utf8State state;
  };
  std::vector<Step> waiting{{offset(units_[0]), {}}};
  while (!waiting.empty()) {
    const Step step = waiting.back();
    waiting.pop_back();
    for (uint32_t byte = 1; byte < 256; ++byte) {
      const uint32_t at = step.base ^ byte;
      const auto state = step.state.after(static_cast<unsigned char>(byte));
      if (!state || at >= units_.size() || label(units_[at]) != byte || seen[at][state->index()]) {
        continue;
      }
      seen[at][state->index()] = true;
      const uint32_t base = at ^ offset(units_[at]);
      if (has_leaf(units_[at])) {
        check_rule(base, *state, name);
      }
      waiting.push_back({base, *state});
    }
  }
}

void Charsmap::check_rule(uint32_t leaf, Utf8State state, const std::string& name) const {
  const auto reject = [&](std::string_view what) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: charsmap: unit {}: {}", name, leaf, what);
  };
  if (!state.between_characters()) {
    reject("a rule for a part of a character");
  }
  if (leaf >= units_.size() || value(units_[leaf]) >= replacements_.size()) {
    reject("a replacement outside the map");
  }
  const size_t begin = value(units_[leaf]);
  const size_t end = replacements_.find('\0', begin);
  if (end == std::string::npos || end - begin > kReplacementLimitBytes) {
    reject("a replacement that does not end");
  }
  if (first_invalid_utf8(std::string_view(replacements_).substr(begin, end - begin)) !=
      std::string_view::npos) {
    reject("a replacement that is not UTF-8");
  }
}

Charsmap::Rule Charsmap::longest(std::string_view text) const {
  Rule rule;
  if (units_.empty()) {
    return rule;
  }
  uint32_t base = offset(units_[0]);
  for (size_t i = 0; i < std::min(text.size(), kKeyLimitBytes); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const uint32_t at = base ^ byte;
    // A NUL in the text ends every look-up: check() follows the bytes that can be in keys.
    if (byte == 0 || at >= units_.size() || label(units_[at]) != byte) {
      break;
    }
    base = at ^ offset(units_[at]);
    if (has_leaf(units_[at])) {
      rule = {i + 1, replacements_.data() + value(units_[base])};
    }
  }
  return rule;
}

}  // namespace quench::tokenizers
