#include "tokenizers/tokenizer_json/pattern.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/delimiters.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/pre_tokenizer.hpp"

namespace quench::tokenizers {

namespace {

class Split final : public PreTokenizer {
 public:
  Split(std::unique_ptr<Pattern> pattern, Delimiters delimiters, bool invert)
      : pattern_(std::move(pattern)), delimiters_(delimiters), invert_(invert) {}

  void split(Pieces& pieces) const override {
    std::vector<Piece> parts;
    std::vector<Match> matches;
    for (const Piece& piece : pieces.list) {
      matches.clear();
      pattern_->find_all(piece.text, matches);
      cut(piece, matches, delimiters_, invert_, parts);
    }
    pieces.list = std::move(parts);
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  Delimiters delimiters_;
  bool invert_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_split(const Entry& entry) {
  return std::make_unique<Split>(make_pattern(entry.member("pattern")),
                                 parse_delimiters(entry.member("behavior")),
                                 entry.member("invert").boolean());
}

}  // namespace quench::tokenizers
