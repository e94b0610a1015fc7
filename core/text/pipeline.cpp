#include "core/text/pipeline.hpp"

#include <unordered_map>

#include "core/text/limits.hpp"
#include "core/text/utf8.hpp"

namespace quench::text {

namespace {

class FilePipeline final : public Tokenizer::Pipeline {
 public:
  explicit FilePipeline(const Entry& root) {
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
  }

  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens) const override;
  size_t vocabulary_size() const override { return static_cast<size_t>(id_count_); }

 private:
  void read_added_tokens(const Entry& list);
  void encode_stretch(std::string_view text, bool at_start, std::vector<int32_t>& ids) const;
  void encode_words(std::string_view text, bool at_start, std::vector<int32_t>& ids) const;

  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<Model> model_;
  AddedTokenMatcher verbatim_;
  AddedTokenMatcher normalized_;
  Frame frame_;
  int32_t id_count_ = 0;
};

// An added token that the vocabulary has keeps its id there; the others follow the vocabulary one
// by one. The reference renumbers those that do not, with a warning; here that is an error.
void FilePipeline::read_added_tokens(const Entry& list) {
  std::unordered_map<std::string, int32_t> seen;
  std::unordered_map<std::string, int32_t> seen_normalized;
  auto next = static_cast<int32_t>(model_->size());
  for (const Entry& entry : list.elements()) {
    AddedToken token = read_added_token(entry);
    const auto known = model_->id_of(token.content);
    const int32_t expected = known.value_or(next);
    if (token.id != expected) {
      entry.reject("\"{}\": id {}, expected {}, {}", printable(token.content, 40), token.id,
                   expected, known ? "its id in the vocabulary" : "the next free one");
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
    if (std::string changed;
        normalizer_ &&
        normalizer_->apply(token.content, rewritten_limit(token.content.size()), changed)) {
      token.content = std::move(changed);
    }
    if (token.content.empty() || token.content.size() > kAddedTokenLimitBytes) {
      entry.reject("expected 1 to {} bytes after normalization, got {}", kAddedTokenLimitBytes,
                   token.content.size());
    }
    if (!seen_normalized.emplace(token.content, token.id).second) {
      entry.reject("\"{}\" is there twice after normalization", printable(token.content, 40));
    }
    normalized_.add(token);
  }
}

std::vector<int32_t> FilePipeline::encode(std::string_view text, bool add_special_tokens) const {
  check_text(text);
  std::vector<int32_t> ids;
  if (add_special_tokens) {
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
  if (add_special_tokens) {
    ids.insert(ids.end(), frame_.after.begin(), frame_.after.end());
  }
  return ids;
}

void FilePipeline::encode_stretch(std::string_view text, bool at_start,
                                  std::vector<int32_t>& ids) const {
  std::string changed;
  if (normalizer_ && normalizer_->apply(text, rewritten_limit(text.size()), changed)) {
    text = changed;
  }
  std::vector<Segment> segments;
  normalized_.split(text, segments);
  for (const Segment& segment : segments) {
    if (segment.id >= 0) {
      ids.push_back(segment.id);
    } else {
      encode_words(text.substr(segment.begin, segment.end - segment.begin),
                   at_start && segment.begin == 0, ids);
    }
  }
}

void FilePipeline::encode_words(std::string_view text, bool at_start,
                                std::vector<int32_t>& ids) const {
  Pieces pieces;
  pieces.limit = rewritten_limit(text.size());
  pieces.list.push_back({text, at_start});
  if (pre_tokenizer_) {
    pre_tokenizer_->split(pieces);
  }
  for (const Piece& piece : pieces.list) {
    model_->encode(piece.text, ids);
  }
}

}  // namespace

void check_text(std::string_view text) {
  if (text.size() > kTextLimitBytes) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "text: {} bytes, expected at most {}", text.size(),
         kTextLimitBytes);
  }
  if (const size_t invalid = first_invalid_utf8(text); invalid != std::string_view::npos) {
    fail(QUENCH_INVALID_ARGUMENT, "text: byte {} (0x{:02x}) is not valid UTF-8", invalid,
         static_cast<unsigned char>(text[invalid]));
  }
}

void check_rewritten(size_t bytes, size_t limit) {
  if (bytes > limit) {
    fail(QUENCH_RESOURCE_EXHAUSTED,
         "text: at least {} bytes once it is rewritten, expected at most {}", bytes, limit);
  }
}

std::unique_ptr<Tokenizer::Pipeline> make_pipeline(const Entry& root) {
  if (const auto version = root.optional_member("version"); version && version->string() != "1.0") {
    version->unsupported("expected \"1.0\", got {}", describe(version->value()));
  }
  return std::make_unique<FilePipeline>(root);
}

}  // namespace quench::text
