#include "tokenizers/tokenizer_json/pre_tokenizers/gpt2_scanner.hpp"
#include "tokenizers/tokenizer_json/pre_tokenizers/pre_tokenizer.hpp"

namespace quench::tokenizers {

namespace {

// Words for a model that knows bytes. The pieces stay as they are, since bytes and the characters
// that stand for them correspond one to one.
class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex)
      : add_prefix_space_(add_prefix_space), use_regex_(use_regex) {}

  void split(Pieces& pieces) const override {
    if (add_prefix_space_) {
      for (Piece& piece : pieces.list) {
        if (piece.text.front() != ' ') {
          piece.text = pieces.store(" " + std::string(piece.text));
          piece.from_first += piece.from_first > 0 ? 1 : 0;
        }
      }
    }
    if (!use_regex_) {
      return;
    }
    std::vector<Piece> words;
    for (const Piece& piece : pieces.list) {
      words.reserve(words.size() + piece.text.size() / 4 + 1);
      for (size_t begin = 0; begin < piece.text.size();) {
        const size_t end = next_gpt2_word(piece.text, begin);
        words.push_back(piece.part(begin, end));
        begin = end;
      }
    }
    pieces.list = std::move(words);
  }

  bool byte_level() const override { return true; }

 private:
  bool add_prefix_space_;
  bool use_regex_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_byte_level(const Entry& entry) {
  const auto use_regex = entry.optional_member("use_regex");
  return std::make_unique<ByteLevel>(entry.member("add_prefix_space").boolean(),
                                     !use_regex || use_regex->boolean());
}

}  // namespace quench::tokenizers
