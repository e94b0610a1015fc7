#include "tokenizers/sentencepiece/pipeline.hpp"

#include <algorithm>
#include <utility>

#include "tokenizers/shared/text_bounds.hpp"
#include "tokenizers/shared/utf8.hpp"

namespace quench::tokenizers {

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

}  // namespace

SentencePiecePipeline::SentencePiecePipeline(std::string_view bytes, const std::string& name)
    : SentencePiecePipeline(read_sentencepiece_file(bytes, name), name) {}

SentencePiecePipeline::SentencePiecePipeline(const SentencePieceFile& file, const std::string& name)
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

std::vector<int32_t> SentencePiecePipeline::encode(std::string_view text, bool add_special) const {
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
  if (add_special && begin_of_text_ >= 0) {
    ids.insert(ids.begin(), begin_of_text_);
  }
  return ids;
}

// Between the strings that the user defined.
void SentencePiecePipeline::merge_pieces(std::string_view text, std::vector<int32_t>& ids) const {
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

void SentencePiecePipeline::cut_pieces(std::string_view text, std::vector<int32_t>& ids) const {
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
void SentencePiecePipeline::fuse_unknown(std::vector<int32_t>& ids) const {
  const auto both_unknown = [this](int32_t a, int32_t b) { return a == unknown_ && b == unknown_; };
  ids.erase(std::unique(ids.begin(), ids.end(), both_unknown), ids.end());
}

}  // namespace quench::tokenizers
