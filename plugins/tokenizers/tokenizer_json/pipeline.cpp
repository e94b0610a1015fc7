#include "tokenizers/tokenizer_json/pipeline.hpp"

#include <unordered_map>

#include "tokenizers/shared/utf8.hpp"
#include "tokenizers/tokenizer_json/known_members.hpp"
#include "tokenizers/tokenizer_json/limits.hpp"

namespace quench::tokenizers {

JsonPipeline::JsonPipeline(std::string_view file, const std::string& name) {
  const kit::JsonDocument document(file, name.c_str());
  read(Entry(document.root(), name));
}

void JsonPipeline::read(const Entry& root) {
  if (const auto version = root.optional_member("version"); version && version->string() != "1.0") {
    version->unsupported("wanted \"1.0\", got {}", describe(version->value()));
  }
  if (const auto entry = root.optional_member("normalizer")) {
    normalizer_ = make_normalizer(*entry);
  }
  if (const auto entry = root.optional_member("pre_tokenizer")) {
    pre_tokenizer_ = make_pre_tokenizer(*entry);
  }
  model_ = make_model(root.member("model"), pre_tokenizer_ && pre_tokenizer_->byte_level());
  id_count_ = model_->id_count();
  if (const auto entry = root.optional_member("added_tokens")) {
    read_added_tokens(*entry);
  }
  if (const auto entry = root.optional_member("post_processor")) {
    frame_ = make_post_processor(*entry, id_count_);
  }
  warn_of_unknown_members(root);
}

// An added token that the vocabulary has keeps its id there; the others follow the vocabulary one
// by one. The reference renumbers those that do not, with a warning; here that is an error.
void JsonPipeline::read_added_tokens(const Entry& list) {
  std::unordered_map<std::string, int32_t> seen;
  std::unordered_map<std::string, int32_t> seen_normalized;
  auto next = static_cast<int32_t>(model_->size());
  for (const Entry& entry : list.elements()) {
    AddedToken token = read_added_token(entry);
    const auto known = model_->id_of(token.content);
    const int32_t expected = known.value_or(next);
    if (token.id != expected) {
      entry.reject("\"{}\": id {}, wanted {}, {}", printable(token.content, 40), token.id, expected,
                   known ? "its id in the vocabulary" : "the next free one");
    }
    if (!known && model_->has_id(token.id)) {
      entry.reject("\"{}\": id {} is taken by another entry", printable(token.content, 40),
                   token.id);
    }
    if (!seen.emplace(token.content, token.id).second) {
      entry.reject("\"{}\" is there twice", printable(token.content, 40));
    }
    next += known ? 0 : 1;
    id_count_ = std::max(id_count_, token.id + 1);
    if (!token.normalized) {
      verbatim_.add(token);
      continue;
    }
    size_t unused = 0;
    if (std::string changed;
        normalizer_ &&
        normalizer_->apply(token.content, rewritten_limit(token.content.size()), changed, unused)) {
      token.content = std::move(changed);
    }
    if (token.content.empty() || token.content.size() > kAddedTokenLimitBytes) {
      entry.reject("wanted 1 to {} bytes after normalization, got {}", kAddedTokenLimitBytes,
                   token.content.size());
    }
    if (!seen_normalized.emplace(token.content, token.id).second) {
      entry.reject("\"{}\" is there twice after normalization", printable(token.content, 40));
    }
    normalized_.add(token);
  }
}

std::vector<int32_t> JsonPipeline::encode(std::string_view text, bool add_special) const {
  check_text(text);
  std::vector<int32_t> ids;
  if (add_special) {
    ids = frame_.before;
  }
  std::vector<Segment> segments;
  verbatim_.split(text, segments);
  for (const Segment& segment : segments) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
    } else {
      encode_stretch(text.substr(segment.begin, segment.end - segment.begin), segment.begin == 0,
                     ids);
    }
  }
  if (add_special) {
    ids.insert(ids.end(), frame_.after.begin(), frame_.after.end());
  }
  return ids;
}

void JsonPipeline::encode_stretch(std::string_view text, bool at_start,
                                  std::vector<int32_t>& ids) const {
  std::string changed;
  size_t from_first = sequence_length(text.front());
  if (normalizer_ && normalizer_->apply(text, rewritten_limit(text.size()), changed, from_first)) {
    text = changed;
  }
  std::vector<Segment> segments;
  normalized_.split(text, segments);
  for (const Segment& segment : segments) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
    } else {
      encode_words(Piece{text, at_start ? from_first : 0}.part(segment.begin, segment.end), ids);
    }
  }
}

void JsonPipeline::encode_words(const Piece& piece, std::vector<int32_t>& ids) const {
  Pieces pieces;
  pieces.limit = rewritten_limit(piece.text.size());
  pieces.list.push_back(piece);
  if (pre_tokenizer_) {
    pre_tokenizer_->split(pieces);
  }
  for (const Piece& word : pieces.list) {
    model_->encode(word.text, ids);
  }
}

}  // namespace quench::tokenizers
