// Reads and checks the "model" of a tokenizer.json.
#include "tokenizers/tokenizer_json/models/bpe.hpp"

namespace quench::tokenizers {

namespace {

void read_vocabulary(const Entry& entry, BpeParts& parts) {
  const kit::JsonValue& vocabulary = entry.value();
  if (!vocabulary.is_object() || vocabulary.size() == 0) {
    entry.reject("wanted an object with entries, got {}",
                 vocabulary.is_object() ? "none" : describe(vocabulary));
  }
  parts.vocabulary.reserve(vocabulary.size());
  vocabulary.each_member([&](std::string_view token, const kit::JsonValue& value) {
    const auto id = id_of(value);
    if (!id) {
      entry.reject("\"{}\": wanted an id from 0 to {}, got {}", printable(token, 40), kIdLimit - 1,
                   describe(value));
    }
    const auto place = static_cast<size_t>(*id);
    if (parts.used.size() <= place) {
      parts.used.resize(place + 1);
    }
    if (parts.used[place]) {
      entry.reject("\"{}\": id {} is taken by another entry", printable(token, 40), *id);
    }
    parts.used[place] = true;
    parts.vocabulary.emplace(token, *id);
  });
}

struct MergeText {
  std::string_view left;
  std::string_view right;
};

// ["a", "b"] or "a b".
std::optional<MergeText> parse_merge(const kit::JsonValue& value) {
  if (value.is_array() && value.size() == 2) {
    const auto left = value.element(0)->string();
    const auto right = value.element(1)->string();
    return left && right ? std::optional(MergeText{*left, *right}) : std::nullopt;
  }
  const auto whole = value.string();
  if (!whole) {
    return std::nullopt;
  }
  const std::string_view text = *whole;
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return MergeText{text.substr(0, space), text.substr(space + 1)};
}

void read_merges(const Entry& entry, BpeParts& parts) {
  if (!entry.value().is_array()) {
    entry.reject("wanted an array, got {}", describe(entry.value()));
  }
  const kit::JsonValue& merges = entry.value();
  parts.merges = MergeTable(merges.size());
  parts.marks_begin_words = parts.vocabulary.contains(std::string_view("\u2581"));
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const kit::JsonValue value = *merges.element(rank);
    const auto merge = parse_merge(value);
    if (!merge) {
      entry.reject("merge {}: wanted \"a b\" or [\"a\", \"b\"], got {}", rank, describe(value));
    }
    const auto id_of = [&](std::string_view token) {
      const auto found = parts.vocabulary.find(token);
      if (found == parts.vocabulary.end()) {
        entry.reject("merge {}: \"{}\" is not in the vocabulary", rank, printable(token, 40));
      }
      return found->second;
    };
    std::string whole(merge->left);
    whole += merge->right;
    const int32_t left = id_of(merge->left);
    const int32_t right = id_of(merge->right);
    parts.merges.insert(left, right, {static_cast<uint32_t>(rank), id_of(whole)});
    parts.marks_begin_words = parts.marks_begin_words && !has_inner_mark(whole);
  }
}

bool flag(const Entry& entry, std::string_view key) {
  const auto member = entry.optional_member(key);
  return member && member->boolean();
}

}  // namespace

BpeParts read_bpe(const Entry& entry) {
  const auto dropout = entry.optional_member("dropout");
  if (dropout && dropout->value().number() != 0) {
    dropout->unsupported("wanted null, got {}: random encodings are not supported",
                         describe(dropout->value()));
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto affix = entry.optional_member(key);
    if (affix && !affix->string().empty()) {
      affix->unsupported("wanted null or \"\", got {}", describe(affix->value()));
    }
  }
  BpeParts parts;
  read_vocabulary(entry.member("vocab"), parts);
  read_merges(entry.member("merges"), parts);
  if (const auto unknown = entry.optional_member("unk_token")) {
    const auto found = parts.vocabulary.find(unknown->string());
    if (found == parts.vocabulary.end()) {
      unknown->reject("\"{}\" is not in the vocabulary", printable(unknown->string(), 40));
    }
    parts.unknown = found->second;
  }
  parts.fuse_unknown = flag(entry, "fuse_unk");
  parts.byte_fallback = flag(entry, "byte_fallback");
  parts.ignore_merges = flag(entry, "ignore_merges");
  return parts;
}

}  // namespace quench::tokenizers
