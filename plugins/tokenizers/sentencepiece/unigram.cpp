#include "tokenizers/sentencepiece/unigram.hpp"

#include <algorithm>
#include <cfloat>

#include "tokenizers/shared/message.hpp"
#include "tokenizers/shared/utf8.hpp"

namespace quench::tokenizers {

namespace {

// A byte of text costs 12 bytes here.
constexpr size_t kTextLimitBytes = size_t{1} << 28;
constexpr float kUnknownPenalty = 10.0F;

}  // namespace

SentencePieceUnigram::SentencePieceUnigram(const SentencePieceFile& file) : unknown_(file.unknown) {
  float lowest = FLT_MAX;
  highest_ = FLT_MIN;  // the smallest above zero, and the value for scores that are logarithms
  std::vector<std::pair<std::string_view, int32_t>> entries;
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    const SentencePiece& piece = file.pieces[id];
    scores_.push_back({piece.score, piece.type});
    if (piece.type == PieceType::normal) {
      lowest = std::min(lowest, piece.score);
      highest_ = std::max(highest_, piece.score);
    }
    if (piece.in_text() && piece.type != PieceType::unused) {
      entries.emplace_back(piece.text, static_cast<int32_t>(id));
    }
  }
  unknown_score_ = lowest - kUnknownPenalty;
  trie_ = PrefixTrie(std::move(entries));
}

// Viterbi over bytes. Sums are kept in float32 and compared in float64, so that near ties fall as
// in SentencePiece 0.1.95 to 0.2.1, whose sums lose digits in texts of more than about 30,000
// characters; hence also no cutting into words.
void SentencePieceUnigram::cut(std::string_view text, std::vector<Cut>& cuts) const {
  if (text.size() > kTextLimitBytes) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "text: {} bytes, at most {} for a unigram model", text.size(),
         kTextLimitBytes);
  }
  struct Best {
    float score = 0;
    int32_t id = -1;
    uint32_t begin = 0;
  };
  std::vector<Best> ends(text.size() + 1);  // the best that ends before each byte
  const auto offer = [&](size_t end, double score, int32_t id, size_t begin) {
    Best& best = ends[end];
    if (best.id < 0 || score > static_cast<double>(best.score)) {
      best = {static_cast<float>(score), id, static_cast<uint32_t>(begin)};
    }
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t character = sequence_length(text[begin]);
    const float so_far = ends[begin].score;
    bool known = false;
    uint32_t node = PrefixTrie::kRoot;
    for (size_t end = begin; end < text.size();) {
      node = trie_.child(node, text[end++]);
      if (node == PrefixTrie::kNowhere) {
        break;
      }
      const int32_t id = trie_.value(node);
      if (id < 0) {
        continue;
      }
      const size_t length = end - begin;
      const Score piece = scores_[static_cast<size_t>(id)];
      const double score = piece.type == PieceType::user_defined
                               ? static_cast<double>(static_cast<float>(length) * highest_) - 0.1
                               : static_cast<double>(piece.score);
      offer(end, score + static_cast<double>(so_far), id, begin);
      known = known || length == character;
    }
    if (!known) {
      offer(begin + character, static_cast<double>(unknown_score_ + so_far), unknown_, begin);
    }
    begin += character;
  }
  const size_t before = cuts.size();
  for (size_t end = text.size(); end > 0; end = ends[end].begin) {
    cuts.push_back({ends[end].id, ends[end].begin});
  }
  std::reverse(cuts.begin() + static_cast<ptrdiff_t>(before), cuts.end());
}

}  // namespace quench::tokenizers
