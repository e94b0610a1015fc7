// Corpora as token ids: opened and tokenized through plugins, kept for the life of a run,
// and on disk for the next one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/arithmetic/calibration_rows.hpp"
#include "core/hub/environment.hpp"
#include "core/inputs/corpora/token_cache.hpp"
#include "core/inputs/corpora/tokenizer.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

// Selects calibration sample `draw` of `of` disjoint ones. With jitter > 0 the sequences are
// shuffled; the order depends on seed and jitter only.
struct CalibrationDraw {
  uint32_t draw = 0;
  uint32_t of = 1;
  uint32_t jitter = 0;
  uint64_t seed = 0;
};

// SHA-256 of the content of a corpus's files in the keys of a run.
using KeyedContent = std::function<std::string(const CorpusUse&)>;

class Corpora {
 public:
  // Without a cache every run tokenizes again. `keyed`: empty where values have no keys.
  explicit Corpora(Catalog& catalog, TokenCache cache = TokenCache({}), HubEnvironment hub = {},
                   KeyedContent keyed = {})
      : catalog_(catalog),
        cache_(std::move(cache)),
        hub_(std::move(hub)),
        keyed_(std::move(keyed)) {}

  // Reads at most `max_documents` documents (0: all) and stops once it has `max_ids` ids (0: no
  // bound). Does not tokenize again what the cache has for the same file contents, tokenizer and
  // bounds. Throws Error(UNAVAILABLE) if what was read is not what the keys say, or changed
  // meanwhile.
  std::shared_ptr<const TokenizedCorpus> load(const CorpusUse& use, TokenizerChoice& tokenizer,
                                              uint64_t max_documents = 0, uint64_t max_ids = 0);
  // The calibration sequences: packed sequences or whole documents. Throws Error if the corpus is
  // too small for all samples together. `longest`: the model's number of positions.
  CalibrationRows calibration_rows(const Calibration& calibration, TokenizerChoice& tokenizer,
                                   uint64_t longest, const CalibrationDraw& draw = {});

  // What calibration_rows would say of too little text for `draws` samples together, or "". Throws
  // what load throws.
  std::string lack_of_text(const Calibration& calibration, TokenizerChoice& tokenizer,
                           uint32_t draws);
  // Whether lack_of_text tokenizes nothing: the cache has the ids. Hashes the corpus's files.
  bool knows_text(const Calibration& calibration, TokenizerChoice& tokenizer, uint32_t draws);
  // What a reading of the corpus must find (HeldCorpus): the content in the keys, or what lies
  // there now.
  std::string expected_content(const CorpusUse& use);

  // Of a corpus of the manifest that was read; warns of the first skipped ones.
  void count_skipped(const std::string& name, uint64_t skipped, uint64_t given);
  uint64_t skipped(const std::string& name) const;

  // Where the hub's data sets are cached.
  const HubEnvironment& hub() const { return hub_; }

  // Documents tokenized by this process, not taken from a cache.
  uint64_t tokenized_documents() const { return tokenized_documents_; }

 private:
  std::shared_ptr<const TokenizedCorpus> text_of(const Calibration& calibration,
                                                 TokenizerChoice& tokenizer, uint32_t draws);
  std::string key_of(const CorpusUse& use, const std::string& fingerprint,
                     TokenizerChoice& tokenizer, uint64_t max_documents, uint64_t max_ids);
  std::shared_ptr<TokenizedCorpus> read(const CorpusUse& use, TokenizerChoice& tokenizer,
                                        uint64_t max_documents, uint64_t max_ids);

  Catalog& catalog_;
  TokenCache cache_;
  HubEnvironment hub_;
  KeyedContent keyed_;
  uint64_t tokenized_documents_ = 0;
  std::map<std::string, std::shared_ptr<const TokenizedCorpus>> loaded_;
  std::map<std::string, uint64_t> skipped_;  // by the name of the corpus
};

// Says in the log that documents of a corpus were skipped.
void warn_of_skipped(const std::string& name, uint64_t skipped, uint64_t given);

// Throws Error(INVALID_ARGUMENT) if the calibration has sequences longer than a model's number of
// positions.
void check_length(const Calibration& calibration, uint64_t longest);

// The corpus in the form that metrics get; valid as long as the corpus.
quench_tokens tokens_view(const char* parameter, const TokenizedCorpus& corpus);

}  // namespace quench
