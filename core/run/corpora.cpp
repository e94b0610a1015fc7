#include "core/run/corpora.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "core/io/file.hpp"
#include "core/io/sha256.hpp"
#include "core/plugin/corpus_handle.hpp"
#include "core/plugin/host_services.hpp"
#include "core/text/encode_documents.hpp"

namespace quench {

TokenizerChoice::TokenizerChoice(std::optional<std::string> path, std::string missing_message)
    : path_(std::move(path)), missing_message_(std::move(missing_message)) {}

const text::Tokenizer& TokenizerChoice::get() {
  if (!path_) {
    fail(QUENCH_NOT_FOUND, "{}", missing_message_);
  }
  if (!tokenizer_) {
    tokenizer_ = *path_ == "bytes" ? text::Tokenizer::bytes() : text::Tokenizer::from_file(*path_);
  }
  return *tokenizer_;
}

std::string TokenizerChoice::key() {
  if (!path_ || *path_ == "bytes") {
    return path_.value_or("none");
  }
  return sha256_of(File(*path_));
}

namespace {

// Documents are tokenized in batches of about this many bytes, so that memory stays bounded.
constexpr size_t kBatchBytes = 16u << 20;

class Reader {
 public:
  Reader(TokenizedCorpus& out, TokenizerChoice& tokenizer) : out_(out), tokenizer_(tokenizer) {
    out_.offsets = {0};
  }

  void add(const quench_document& document) {
    if (document.ids != nullptr) {
      append({document.ids, document.ids + document.id_count});
      return;
    }
    if (document.text == nullptr) {
      fail(QUENCH_INVALID_ARGUMENT, "corpus {}: yields records; wanted text or ids", out_.name);
    }
    pending_.emplace_back(document.text, document.text_bytes);
    pending_bytes_ += document.text_bytes;
    if (pending_bytes_ >= kBatchBytes) {
      flush();
    }
  }

  void flush() {
    if (pending_.empty()) {
      return;
    }
    const int threads = static_cast<int>(HostServices::instance().threads());
    try {
      for (const std::vector<int32_t>& ids :
           text::encode_documents(tokenizer_.get(), pending_, false, threads)) {
        append(ids);
      }
    } catch (const Error& error) {
      fail(error.code(), "corpus {}: {}", out_.name, error.what());
    }
    for (const std::string& document : pending_) {
      out_.bytes.push_back(document.size());
    }
    pending_.clear();
    pending_bytes_ = 0;
  }

  // Documents so far, those not yet tokenized included.
  uint64_t documents() const { return out_.documents() + pending_.size(); }

 private:
  void append(const std::vector<int32_t>& ids) {
    out_.ids.insert(out_.ids.end(), ids.begin(), ids.end());
    out_.offsets.push_back(out_.ids.size());
  }

  TokenizedCorpus& out_;
  TokenizerChoice& tokenizer_;
  std::vector<std::string> pending_;
  size_t pending_bytes_ = 0;
};

}  // namespace

std::shared_ptr<const TokenizedCorpus> Corpora::load(const CorpusUse& use,
                                                     TokenizerChoice& tokenizer,
                                                     uint64_t max_documents, uint64_t max_ids) {
  const std::string key = fmt::format("{}|{}|{}|{}|{}", use.plugin->id, use.parameters.dump(),
                                      tokenizer.key(), max_documents, max_ids);
  if (const auto found = loaded_.find(key); found != loaded_.end()) {
    return found->second;
  }
  auto corpus = std::make_shared<TokenizedCorpus>();
  corpus->name = use.name;
  CorpusHandle handle(catalog_, *use.plugin, use.parameters);
  Reader reader(*corpus, tokenizer);
  quench_document document{};
  HostServices& services = HostServices::instance();
  while ((max_documents == 0 || reader.documents() < max_documents) && handle.next(document)) {
    if (services.cancel_flag()) {
      fail(QUENCH_CANCELLED, "stopped on request");
    }
    reader.add(document);
    if (max_ids > 0 && reader.documents() % 64 == 0) {
      reader.flush();  // otherwise nobody knows how many ids there are
    }
    if (max_ids > 0 && corpus->ids.size() >= max_ids) {
      break;
    }
  }
  reader.flush();
  corpus->fingerprint = handle.fingerprint();
  loaded_[key] = corpus;
  return corpus;
}

CalibrationRows Corpora::calibration_rows(const Calibration& calibration,
                                          TokenizerChoice& tokenizer, uint64_t longest) {
  CalibrationRows rows;
  rows.starts = {0};
  if (calibration.length > longest) {
    fail(QUENCH_INVALID_ARGUMENT,
         "calibration {}: length = {}, more than the {} positions of the model", calibration.name,
         calibration.length, longest);
  }
  if (calibration.packing == Packing::kConcat) {
    const uint64_t wanted = calibration.sequences * calibration.length;
    const auto corpus = load(calibration.corpus, tokenizer, calibration.documents, wanted);
    if (corpus->ids.size() < wanted) {
      fail(QUENCH_INVALID_ARGUMENT,
           "calibration {}: {} sequences of {} ids asked, {} ids wanted, the corpus has {}",
           calibration.name, calibration.sequences, calibration.length, wanted, corpus->ids.size());
    }
    rows.ids.assign(corpus->ids.begin(), corpus->ids.begin() + static_cast<ptrdiff_t>(wanted));
    for (uint64_t s = 1; s <= calibration.sequences; ++s) {
      rows.starts.push_back(s * calibration.length);
    }
    return rows;
  }
  const auto corpus = load(calibration.corpus, tokenizer, calibration.documents);
  if (corpus->documents() < calibration.documents) {
    fail(QUENCH_INVALID_ARGUMENT, "calibration {}: {} documents asked, the corpus has {}",
         calibration.name, calibration.documents, corpus->documents());
  }
  const uint64_t limit = calibration.length > 0 ? std::min(calibration.length, longest) : longest;
  for (uint64_t d = 0; d < corpus->documents(); ++d) {
    const uint64_t first = corpus->offsets[d];
    const uint64_t length = std::min(limit, corpus->offsets[d + 1] - first);
    if (length == 0) {
      continue;  // an empty document has no rows to give
    }
    rows.ids.insert(rows.ids.end(), corpus->ids.begin() + static_cast<ptrdiff_t>(first),
                    corpus->ids.begin() + static_cast<ptrdiff_t>(first + length));
    rows.starts.push_back(rows.ids.size());
  }
  if (rows.ids.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "calibration {}: the corpus is empty", calibration.name);
  }
  return rows;
}

quench_tokens tokens_view(const char* parameter, const TokenizedCorpus& corpus) {
  return {sizeof(quench_tokens),
          parameter,
          corpus.name.c_str(),
          corpus.documents(),
          corpus.ids.data(),
          corpus.offsets.data(),
          corpus.bytes.empty() ? nullptr : corpus.bytes.data()};
}

}  // namespace quench
