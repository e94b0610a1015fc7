#include "tokenizers/shared/utf8.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/delimiters.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/pre_tokenizer.hpp"

namespace quench::tokenizers {

namespace {

enum class Prefix { always, first, never };

// SentencePiece's way with spaces: each becomes a visible mark, and one more may go in front.
class Metaspace final : public PreTokenizer {
 public:
  Metaspace(std::string mark, Prefix prefix, bool split_at_marks)
      : mark_(std::move(mark)), prefix_(prefix), split_at_marks_(split_at_marks) {}

  void split(Pieces& pieces) const override {
    std::vector<Piece> parts;
    for (const Piece& piece : pieces.list) {
      size_t from_first = piece.from_first;
      const std::string_view text = pieces.store(mark_spaces(piece, from_first));
      const Piece marked{text, from_first};
      if (split_at_marks_) {
        cut(marked, find_marks(marked.text), Delimiters::merged_with_next, false, parts);
      } else {
        parts.push_back(marked);
      }
    }
    pieces.list = std::move(parts);
  }

 private:
  std::string mark_spaces(const Piece& piece, size_t& from_first) const {
    std::string marked;
    marked.reserve(piece.text.size() + mark_.size());
    const bool has_mark = piece.text.front() == ' ' || piece.text.substr(0, mark_.size()) == mark_;
    if (!has_mark && (prefix_ == Prefix::always || (prefix_ == Prefix::first && from_first > 0))) {
      marked = mark_;
      from_first += from_first > 0 ? mark_.size() : 0;
    }
    for (size_t i = 0; i < piece.text.size(); ++i) {
      const char c = piece.text[i];
      if (c == ' ') {
        from_first += i < piece.from_first ? mark_.size() - 1 : 0;
        marked += mark_;
      } else {
        marked += c;
      }
    }
    return marked;
  }

  std::vector<Match> find_marks(std::string_view text) const {
    std::vector<Match> matches;
    for (size_t at = text.find(mark_); at != std::string_view::npos;
         at = text.find(mark_, at + mark_.size())) {
      matches.push_back({at, at + mark_.size()});
    }
    return matches;
  }

  std::string mark_;
  Prefix prefix_;
  bool split_at_marks_;
};

Prefix parse_prefix(const Entry& entry) {
  const auto scheme = entry.optional_member("prepend_scheme");
  const auto add = entry.optional_member("add_prefix_space");
  const std::string name = scheme ? scheme->string() : "always";
  if (name != "always" && name != "first" && name != "never") {
    scheme->unsupported("\"{}\" is not supported; supported: always, first, never",
                        printable(name));
  }
  // The older spelling.
  if (add && !add->boolean()) {
    if (scheme && name != "never") {
      entry.reject("add_prefix_space is false, and prepend_scheme is \"{}\"", name);
    }
    return Prefix::never;
  }
  return name == "always" ? Prefix::always : name == "first" ? Prefix::first : Prefix::never;
}

}  // namespace

std::unique_ptr<PreTokenizer> make_metaspace(const Entry& entry) {
  const Entry replacement = entry.member("replacement");
  std::string mark = replacement.string();
  if (mark.empty() || sequence_length(mark.front()) != mark.size()) {
    replacement.reject("wanted one character, got {}", describe(replacement.value()));
  }
  const auto split = entry.optional_member("split");
  return std::make_unique<Metaspace>(std::move(mark), parse_prefix(entry),
                                     !split || split->boolean());
}

}  // namespace quench::tokenizers
