#include "tokenizers/shared/utf8.hpp"
#include "tokenizers/tokenizer_json/character_class.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/delimiters.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/pre_tokenizer.hpp"

namespace quench::tokenizers {

namespace {

// Numbers (\p{N}) apart from all else, whole or one by one.
class Digits final : public PreTokenizer {
 public:
  explicit Digits(bool individual) : individual_(individual) {}

  void split(Pieces& pieces) const override {
    std::vector<Piece> parts;
    std::vector<Match> matches;
    for (const Piece& piece : pieces.list) {
      matches.clear();
      for (size_t i = 0; i < piece.text.size();) {
        const size_t begin = i;
        if (classify(decode(piece.text, i)) == CharacterClass::number) {
          matches.push_back({begin, i});
        }
      }
      cut(piece, matches, individual_ ? Delimiters::isolated : Delimiters::contiguous, false,
          parts);
    }
    pieces.list = std::move(parts);
  }

 private:
  bool individual_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_digits(const Entry& entry) {
  return std::make_unique<Digits>(entry.member("individual_digits").boolean());
}

}  // namespace quench::tokenizers
