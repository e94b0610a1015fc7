#include "core/text/sentencepiece/pipeline.hpp"

#include <algorithm>
#include <optional>

#include "core/text/pipeline.hpp"
#include "core/text/sentencepiece/bpe.hpp"
#include "core/text/sentencepiece/text_form.hpp"
#include "core/text/sentencepiece/unigram.hpp"
#include "core/text/utf8.hpp"

namespace quench::text {

namespace {

PrefixTrie user_defined_trie(const SentencePieceFile& file) {
  std::vector<std::pair<std::string_view, int32_t>> entries;
  for (size_t id = 0; id < file.pieces.size(); ++id) {
    if (file.pieces[id].type == PieceType::user_defined) {
      entries.emplace_back(file.pieces[id].text, static_cast<int32_t>(id));
    }
  }
  return PrefixTrie(std::move(entries));
}

class SentencePiecePipeline final : public Tokenizer::Pipeline {
 public:
  SentencePiecePipeline(const SentencePieceFile& file, const std::string& name)
      : user_defined_(user_defined_trie(file)),
        form_(file, user_defined_, name),
        byte_ids_(file.byte_ids),
        pieces_(file.pieces.size()),
        unknown_(file.unknown),
        begin_of_text_(file.begin_of_text) {
    if (file.kind == SentencePieceKind::bpe) {
      bpe_.emplace(file, name);
    } else {
      unigram_.emplace(file);
    }
  }

  std::vector<int32_t> encode(std::string_view text, bool add_special_tokens) const override {
    check_text(text);
    const std::string formed = form_.apply(text);
    std::vector<int32_t> ids;
    if (bpe_) {
      merge_pieces(formed, ids);
    } else {
      cut_pieces(formed, ids);
    }
    if (byte_ids_.empty()) {
      fuse_unknown(ids);
    }
    if (add_special_tokens && begin_of_text_ >= 0) {
      ids.insert(ids.begin(), begin_of_text_);
    }
    return ids;
  }

  size_t vocabulary_size() const override { return pieces_; }

 private:
  // Between the strings that the user defined.
  void merge_pieces(std::string_view text, std::vector<int32_t>& ids) const {
    size_t done = 0;
    for (size_t at = 0; !user_defined_.empty() && at < text.size();) {
      const auto [length, id] = user_defined_.longest(text.substr(at));
      if (length == 0) {
        at += sequence_length(text[at]);
        continue;
      }
      if (done < at) {
        bpe_->encode(text.substr(done, at - done), ids);
      }
      ids.push_back(id);
      at += length;
      done = at;
    }
    if (done < text.size()) {
      bpe_->encode(text.substr(done), ids);
    }
  }

  void cut_pieces(std::string_view text, std::vector<int32_t>& ids) const {
    std::vector<SentencePieceUnigram::Cut> cuts;
    unigram_->cut(text, cuts);
    ids.reserve(cuts.size() + 1);
    for (size_t i = 0; i < cuts.size(); ++i) {
      if (cuts[i].id != unknown_ || byte_ids_.empty()) {
        ids.push_back(cuts[i].id);
        continue;
      }
      const size_t end = i + 1 < cuts.size() ? cuts[i + 1].begin : text.size();
      for (size_t at = cuts[i].begin; at < end; ++at) {
        ids.push_back(byte_ids_[static_cast<unsigned char>(text[at])]);
      }
    }
  }

  // A run of unknown characters is one id.
  void fuse_unknown(std::vector<int32_t>& ids) const {
    const auto both_unknown = [this](int32_t a, int32_t b) {
      return a == unknown_ && b == unknown_;
    };
    ids.erase(std::unique(ids.begin(), ids.end(), both_unknown), ids.end());
  }

  PrefixTrie user_defined_;
  TextForm form_;
  std::optional<SentencePieceBpe> bpe_;
  std::optional<SentencePieceUnigram> unigram_;
  std::vector<int32_t> byte_ids_;
  size_t pieces_;
  int32_t unknown_;
  int32_t begin_of_text_;
};

}  // namespace

std::unique_ptr<Tokenizer::Pipeline> make_sentencepiece_pipeline(std::string_view bytes,
                                                                 const std::string& name) {
  return std::make_unique<SentencePiecePipeline>(read_sentencepiece_file(bytes, name), name);
}

}  // namespace quench::text
