#include "core/inputs/corpora/corpora.hpp"

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "core/arithmetic/build_id.hpp"
#include "core/arithmetic/calibration_rows.hpp"
#include "core/error.hpp"
#include "core/inputs/corpora/open_corpus.hpp"
#include "core/plugin/handles/corpus_handle.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

// Bytes of a batch of documents that is tokenized at once; bounds the memory.
constexpr size_t kBatchBytes = 16u << 20;

class Reader {
 public:
  Reader(Catalog& catalog, TokenizedCorpus& out, TokenizerChoice& tokenizer)
      : catalog_(catalog), out_(out), tokenizer_(tokenizer) {
    out_.offsets = {0};
  }

  void add(const quench_document& document) {
    if (document.ids != nullptr) {
      append({document.ids, document.id_count});
      return;
    }
    if (document.text == nullptr) {
      fail(QUENCH_INVALID_ARGUMENT, "corpus {}: yields records; wanted text or ids", out_.name);
    }
    pending_.add({document.text, document.text_bytes});
    if (pending_.bytes() >= kBatchBytes) {
      flush();
    }
  }

  void flush() {
    if (pending_.documents() == 0) {
      return;
    }
    try {
      const EncodedBatch encoded = tokenizer_.get(catalog_).encode(pending_, false);
      for (size_t d = 0; d < encoded.documents(); ++d) {
        append(encoded.document(d));
        out_.bytes.push_back(pending_.bytes_of(d));
      }
    } catch (const Error& error) {
      fail(error.code(), "corpus {}: {}", out_.name, error.what());
    }
    pending_.clear();
  }

  // Documents so far, including those that are not tokenized yet.
  uint64_t documents() const { return out_.documents() + pending_.documents(); }

 private:
  void append(std::span<const int32_t> ids) {
    out_.ids.insert(out_.ids.end(), ids.begin(), ids.end());
    out_.offsets.push_back(out_.ids.size());
  }

  Catalog& catalog_;
  TokenizedCorpus& out_;
  TokenizerChoice& tokenizer_;
  TextBatch pending_;
};

}  // namespace

std::shared_ptr<const TokenizedCorpus> Corpora::load(const CorpusUse& use,
                                                     TokenizerChoice& tokenizer,
                                                     uint64_t max_documents, uint64_t max_ids) {
  const std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}", use.plugin->id, use.parameters.dump(), use.part.key(),
                  tokenizer.identity(catalog_).key(), max_documents, max_ids);
  if (const auto found = loaded_.find(key); found != loaded_.end()) {
    return found->second;
  }
  auto corpus = read(use, tokenizer, max_documents, max_ids);
  corpus->name = use.name;
  count_skipped(use.name, corpus->skipped, corpus->documents());
  loaded_[key] = corpus;
  return corpus;
}

std::string Corpora::key_of(const CorpusUse& use, const std::string& fingerprint,
                            TokenizerChoice& tokenizer, uint64_t max_documents, uint64_t max_ids) {
  nlohmann::json parts = {{"counts", 4},  // of a file's head
                          {"files", fingerprint},
                          {"plugin", use.plugin->code},
                          {"corpus", use.plugin->id},
                          {"parameters", use.parameters},
                          {"tokenizer", tokenizer.identity(catalog_).key()},
                          {"host", arithmetic_build_id()},
                          {"documents", max_documents},
                          {"ids", max_ids}};
  if (!catalog_.is_shipped(*use.plugin)) {
    parts["opened"] = "by the host";
  }
  if (use.part.kind != PartKind::kAll) {
    parts["part"] = use.part.key();
  }
  return TokenCache::key_of(parts);
}

std::shared_ptr<TokenizedCorpus> Corpora::read(const CorpusUse& use, TokenizerChoice& tokenizer,
                                               uint64_t max_documents, uint64_t max_ids) {
  const std::string fingerprint = expected_content(use);
  const std::string key = key_of(use, fingerprint, tokenizer, max_documents, max_ids);
  if (auto kept = cache_.find(key)) {
    return std::make_shared<TokenizedCorpus>(std::move(*kept));
  }
  HeldCorpus held(catalog_, use, hub_, fingerprint);
  auto corpus = std::make_shared<TokenizedCorpus>();
  corpus->name = use.name;
  Reader reader(catalog_, *corpus, tokenizer);
  PartReader documents(held.handle(), use.part);
  quench_document document{};
  while ((max_documents == 0 || reader.documents() < max_documents) && documents.next(document)) {
    stop_if_asked();
    reader.add(document);
    if (max_ids > 0 && reader.documents() % 64 == 0) {
      reader.flush();  // otherwise the number of ids is unknown
    }
    if (max_ids > 0 && corpus->ids.size() >= max_ids) {
      break;
    }
  }
  reader.flush();
  corpus->fingerprint = held.check();
  corpus->skipped = held.handle().skipped();
  check_running_code();
  if (!corpus->bytes.empty()) {  // ids that the corpus supplies itself are not kept twice
    tokenized_documents_ += corpus->documents();
    if (held.is_checked()) {
      cache_.keep(key, *corpus);
    }
  }
  return corpus;
}

void Corpora::count_skipped(const std::string& name, uint64_t skipped, uint64_t given) {
  if (skipped == 0) {
    return;
  }
  if (skipped_.emplace(name, 0).second) {
    warn_of_skipped(name, skipped, given);
  }
  skipped_[name] = std::max(skipped_[name], skipped);
}

uint64_t Corpora::skipped(const std::string& name) const {
  const auto found = skipped_.find(name);
  return found != skipped_.end() ? found->second : 0;
}

void warn_of_skipped(const std::string& name, uint64_t skipped, uint64_t given) {
  HostServices::instance().log(
      QUENCH_LOG_WARNING, "",
      fmt::format("corpus {}: {} of {} documents {} skipped, as its parameters say", name, skipped,
                  given + skipped, skipped == 1 ? "was" : "were"));
}

// Where there are no keys, another handle says it: one that is open already may read files that
// have lost their names, and hash those that took them.
std::string Corpora::expected_content(const CorpusUse& use) {
  return keyed_ ? keyed_(use) : open_corpus(catalog_, use, hub_).fingerprint();
}

namespace {

// " for 5 draws", if there are several.
std::string for_draws(uint32_t draws) {
  return draws > 1 ? fmt::format(" for {} draws", draws) : "";
}

uint64_t documents_of(const Calibration& calibration, const TokenizedCorpus& corpus) {
  return calibration.documents > 0 ? calibration.documents : corpus.documents();
}

// How many documents and ids are read for all draws together; 0: all.
std::pair<uint64_t, uint64_t> bounds_of(const Calibration& calibration, uint32_t draws) {
  return calibration.packing == Packing::kConcat
             ? std::pair(calibration.documents, calibration.sequences * calibration.length * draws)
             : std::pair(calibration.documents * draws, uint64_t{0});
}

// What the corpus has too little of for all draws together, or "".
std::string lack_of(const Calibration& calibration, const TokenizedCorpus& corpus, uint32_t draws) {
  if (calibration.packing == Packing::kConcat) {
    const uint64_t wanted = calibration.sequences * calibration.length * draws;
    return corpus.ids.size() >= wanted
               ? ""
               : fmt::format(
                     "calibration {}: {} sequences of {} ids{} need {} ids, the corpus has {}",
                     calibration.name, calibration.sequences, calibration.length, for_draws(draws),
                     wanted, corpus.ids.size());
  }
  const uint64_t wanted = documents_of(calibration, corpus) * draws;
  if (corpus.documents() < wanted) {
    return fmt::format("calibration {}: wanted {} documents{}, the corpus has {}", calibration.name,
                       wanted, for_draws(draws), corpus.documents());
  }
  return corpus.ids.empty() ? fmt::format("calibration {}: the corpus is empty", calibration.name)
                            : "";
}

CalibrationRows packed_rows(const Calibration& calibration, const TokenizedCorpus& corpus,
                            const CalibrationDraw& draw) {
  const uint64_t slice = calibration.sequences * calibration.length;
  return rows_of_sequences(std::span(corpus.ids).subspan(slice * draw.draw, slice),
                           calibration.sequences, calibration.length);
}

CalibrationRows document_rows(const Calibration& calibration, const TokenizedCorpus& corpus,
                              uint64_t longest, const CalibrationDraw& draw) {
  const uint64_t slice = documents_of(calibration, corpus);
  const uint64_t limit = calibration.length > 0 ? std::min(calibration.length, longest) : longest;
  CalibrationRows rows = rows_of_documents(
      corpus.ids, std::span(corpus.offsets).subspan(slice * draw.draw, slice + 1), limit);
  if (rows.ids.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "calibration {}: the corpus is empty", calibration.name);
  }
  return rows;
}

}  // namespace

void check_length(const Calibration& calibration, uint64_t longest) {
  if (calibration.length > longest) {
    fail(QUENCH_INVALID_ARGUMENT,
         "calibration {}: `length`: got {} ids, wanted at most {}, the context of the model",
         calibration.name, calibration.length, longest);
  }
}

std::shared_ptr<const TokenizedCorpus> Corpora::text_of(const Calibration& calibration,
                                                        TokenizerChoice& tokenizer,
                                                        uint32_t draws) {
  const auto [documents, ids] = bounds_of(calibration, draws);
  return load(calibration.corpus, tokenizer, documents, ids);
}

std::string Corpora::lack_of_text(const Calibration& calibration, TokenizerChoice& tokenizer,
                                  uint32_t draws) {
  return lack_of(calibration, *text_of(calibration, tokenizer, draws), draws);
}

bool Corpora::knows_text(const Calibration& calibration, TokenizerChoice& tokenizer,
                         uint32_t draws) {
  const auto [documents, ids] = bounds_of(calibration, draws);
  std::error_code unreadable;
  return std::filesystem::exists(
      cache_.path_of(key_of(calibration.corpus, expected_content(calibration.corpus), tokenizer,
                            documents, ids)),
      unreadable);
}

CalibrationRows Corpora::calibration_rows(const Calibration& calibration,
                                          TokenizerChoice& tokenizer, uint64_t longest,
                                          const CalibrationDraw& draw) {
  check_length(calibration, longest);
  const auto corpus = text_of(calibration, tokenizer, draw.of);
  if (const std::string lack = lack_of(calibration, *corpus, draw.of); !lack.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}", lack);
  }
  CalibrationRows rows = calibration.packing == Packing::kConcat
                             ? packed_rows(calibration, *corpus, draw)
                             : document_rows(calibration, *corpus, longest, draw);
  if (calibration.pad_batch > 0) {
    rows = padded_rows(rows, calibration.pad_batch, calibration.pad_id);
  }
  return draw.jitter > 0 ? shuffled_rows(rows, draw.seed, draw.jitter) : rows;
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
