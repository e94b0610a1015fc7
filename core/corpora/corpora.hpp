// Corpora as token ids: opened and tokenized through plugins, kept for the life of a run,
// and on disk for the next one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/arithmetic/calibration_rows.hpp"
#include "core/corpora/token_cache.hpp"
#include "core/corpora/tokenized_corpus.hpp"
#include "core/corpora/tokenizer_choice.hpp"
#include "core/experiment/experiment.hpp"
#include "core/hub/environment.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

// The draw-th of `of` disjoint slices of a corpus; with jitter > 0 its rows in another order, which
// follows from seed and number alone.
struct CalibrationDraw {
  uint32_t draw = 0;
  uint32_t of = 1;
  uint32_t jitter = 0;
  uint64_t seed = 0;
};

class Corpora {
 public:
  // Without a cache every run tokenizes anew.
  explicit Corpora(Catalog& catalog, TokenCache cache = TokenCache({}), HubEnvironment hub = {})
      : catalog_(catalog), cache_(std::move(cache)), hub_(std::move(hub)) {}

  // Reads up to `max_documents` documents (0: all) or until `max_ids` ids (0: no bound) are there.
  // Text that the cache has for this content of the files, this tokenizer and these bounds is not
  // tokenized again. Throws Error(DATA_LOSS) when the files change meanwhile.
  std::shared_ptr<const TokenizedCorpus> load(const CorpusUse& use, TokenizerChoice& tokenizer,
                                              uint64_t max_documents = 0, uint64_t max_ids = 0);
  // The rows of a calibration: packed sequences or whole documents. Errors when the corpus is
  // smaller than what all draws ask. `longest`: the model's number of positions.
  CalibrationRows calibration_rows(const Calibration& calibration, TokenizerChoice& tokenizer,
                                   uint64_t longest, const CalibrationDraw& draw = {});

  // Where data sets of the hub lie.
  const HubEnvironment& hub() const { return hub_; }

  // Documents that were tokenized, and not taken from the cache or kept from before.
  uint64_t tokenized_documents() const { return tokenized_documents_; }

 private:
  std::shared_ptr<TokenizedCorpus> read(const CorpusUse& use, TokenizerChoice& tokenizer,
                                        uint64_t max_documents, uint64_t max_ids);

  Catalog& catalog_;
  TokenCache cache_;
  HubEnvironment hub_;
  uint64_t tokenized_documents_ = 0;
  std::map<std::string, std::shared_ptr<const TokenizedCorpus>> loaded_;
};

// As a metric sees it; valid as long as the corpus.
quench_tokens tokens_view(const char* parameter, const TokenizedCorpus& corpus);

}  // namespace quench
