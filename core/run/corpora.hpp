// Corpora as token ids: opened through plugins, tokenized by the host, kept for the life of a run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/run/experiment.hpp"
#include "core/run/quantize_model.hpp"
#include "core/text/tokenizer.hpp"
#include "quench/abi/kind/metric.h"

namespace quench {

struct TokenizedCorpus {
  std::string name;
  std::vector<int32_t> ids;       // all documents, one after the other
  std::vector<uint64_t> offsets;  // [documents+1]
  std::vector<uint64_t> bytes;    // [documents], empty where the corpus gave ids
  std::string fingerprint;        // SHA-256 of the corpus's files
  uint64_t documents() const { return offsets.size() - 1; }
};

// The tokenizer that turns the run's text into ids: one for the whole run, or each checkpoint's
// own.
class TokenizerChoice {
 public:
  // `path`: a tokenizer.json, "bytes", or nothing.
  explicit TokenizerChoice(std::optional<std::string> path, std::string missing_message);
  // Throws Error with the message of the constructor when there is none.
  const text::Tokenizer& get();
  // What tells it from another one: SHA-256 of its file, or "bytes".
  std::string key();

 private:
  std::optional<std::string> path_;
  std::string missing_message_;
  std::optional<text::Tokenizer> tokenizer_;
};

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
  explicit Corpora(Catalog& catalog) : catalog_(catalog) {}

  // Reads up to `max_documents` documents (0: all) or until `max_ids` ids (0: no bound) are there.
  std::shared_ptr<const TokenizedCorpus> load(const CorpusUse& use, TokenizerChoice& tokenizer,
                                              uint64_t max_documents = 0, uint64_t max_ids = 0);
  // The rows of a calibration: packed sequences or whole documents. Errors when the corpus is
  // smaller than what all draws ask. `longest`: the model's number of positions.
  CalibrationRows calibration_rows(const Calibration& calibration, TokenizerChoice& tokenizer,
                                   uint64_t longest, const CalibrationDraw& draw = {});

 private:
  Catalog& catalog_;
  std::map<std::string, std::shared_ptr<const TokenizedCorpus>> loaded_;
};

// As a metric sees it; valid as long as the corpus.
quench_tokens tokens_view(const char* parameter, const TokenizedCorpus& corpus);

}  // namespace quench
