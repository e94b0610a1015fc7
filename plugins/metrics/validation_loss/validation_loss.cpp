// validation_loss: mean cross entropy per token over non-overlapping blocks of a corpus.
//
// | parameter | type   | default  | range | meaning                                   |
// |-----------|--------|----------|-------|-------------------------------------------|
// | corpus    | corpus | required |       | the text that is predicted                |
// | block     | int    | 2048     | >= 2  | ids per block, each block its own context |
//
//   - validation_loss: {corpus: refinedweb, block: 2048}
//
// Joins the ids of all documents in order and cuts them into blocks of B ids; drops a last block
// that is not full. Scores positions 2..B of each block, each given the ids before it:
//
//   CE = (Σ over blocks Σ over positions −log p) / (blocks · (B−1))     in nats per token
//
// in float64, summed per block first. The standard error is that of the mean over blocks. Details:
// tokens (all ids), scored, blocks, perplexity e^CE and, if the size of the text is known,
// bits_per_byte = CE/ln 2 · ids/bytes of the whole corpus. The items `block_nll` are the blocks'
// means, for paired comparisons. `documents` says which part of the loss belongs to which document,
// whose independence intervals rest on: `scored`, its positions, and `nll`, the sum over them (of 2
// to 4096 documents; those without a scored position are left out).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "quench/kit/metric.hpp"

namespace quench::metrics {

namespace {

constexpr uint64_t kMostDocuments = 4096;  // beyond them a record would outgrow its items

// nll of every position of the blocks, the first of each unscored: 0.
std::vector<double> scored_nll(const kit::Evaluation& evaluation, const int32_t* ids,
                               uint64_t blocks, uint64_t block) {
  std::vector<uint64_t> starts(blocks + 1);
  for (uint64_t b = 0; b <= blocks; ++b) {
    starts[b] = b * block;
  }
  std::vector<double> nll(blocks * block);
  evaluation.score({sizeof(quench_score_args), 0, blocks, ids, starts.data(), nullptr, nll.data(),
                    nullptr, nullptr});
  for (uint64_t i = 0; i < nll.size(); ++i) {
    if (i % block != 0 && !std::isfinite(nll[i])) {
      kit::fail(QUENCH_NUMERICAL, "block %llu, position %llu: the model's nll is %g",
                static_cast<unsigned long long>(i / block),
                static_cast<unsigned long long>(i % block + 1), nll[i]);
    }
  }
  return nll;
}

// Mean of each block's scored positions.
std::vector<double> block_means(const std::vector<double>& nll, uint64_t block) {
  std::vector<double> means(nll.size() / block);
  for (uint64_t b = 0; b < means.size(); ++b) {
    double sum = 0;
    for (uint64_t t = 1; t < block; ++t) {
      sum += nll[b * block + t];
    }
    means[b] = sum / static_cast<double>(block - 1);
  }
  return means;
}

// The scored positions of each document and the sum of their nll, as JSON; documents without any
// are not in it. "" for a single document, which is no sample, and for more than kMostDocuments.
std::string by_document(const std::vector<double>& nll, const quench_tokens& tokens,
                        uint64_t block) {
  std::string scored;
  std::string sums;
  uint64_t count = 0;
  for (uint64_t d = 0; d < tokens.documents && tokens.offsets[d] < nll.size(); ++d) {
    const uint64_t end = std::min<uint64_t>(tokens.offsets[d + 1], nll.size());
    uint64_t positions = 0;
    double sum = 0;
    for (uint64_t i = tokens.offsets[d]; i < end; ++i) {
      positions += i % block != 0 ? 1 : 0;
      sum += i % block != 0 ? nll[i] : 0;
    }
    if (positions > 0) {
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), "%.17g", sum);
      scored += (count > 0 ? "," : "") + std::to_string(positions);
      sums += (count > 0 ? "," : "") + std::string(number.data());
      ++count;
    }
  }
  return count < 2 || count > kMostDocuments
             ? ""
             : "{\"nll\":[" + sums + "],\"scored\":[" + scored + "]}";
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

// Standard error of the mean; NaN for a single value.
double standard_error_of(const std::vector<double>& values, double mean) {
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / (count - 1) / count);
}

// UTF-8 bytes of the whole corpus; 0 if they are not known.
uint64_t bytes_of(const quench_tokens& tokens) {
  uint64_t bytes = 0;
  for (uint64_t d = 0; tokens.bytes != nullptr && d < tokens.documents; ++d) {
    bytes += tokens.bytes[d];
  }
  return bytes;
}

class ValidationLoss final : public kit::Metric {
 public:
  struct Params {
    kit::CorpusName corpus;
    int64_t block = 2048;
    static void describe(kit::Fields<Params>& f) {
      f.add("corpus", &Params::corpus, "the text that is predicted").required();
      f.add("block", &Params::block, "ids per block (B), each block its own context").at_least(2);
    }
  };

  explicit ValidationLoss(const Params& params) : block_(static_cast<uint64_t>(params.block)) {}

  void fits(const quench_model_info& model) const override {
    kit::check_context("block", static_cast<int64_t>(block_), model);
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    const quench_tokens& tokens = evaluation.tokens("corpus");
    const uint64_t ids = tokens.offsets[tokens.documents];
    const uint64_t blocks = ids / block_;
    if (blocks == 0) {
      kit::fail(QUENCH_FAILED_PRECONDITION,
                "corpus `%s` is smaller than one block: got %llu ids, wanted at least %llu",
                tokens.corpus, static_cast<unsigned long long>(ids),
                static_cast<unsigned long long>(block_));
    }
    const std::vector<double> nll = scored_nll(evaluation, tokens.ids, blocks, block_);
    const std::vector<double> means = block_means(nll, block_);
    // All blocks score equally many positions, so the mean of their means is the mean over
    // positions.
    const double loss = mean_of(means);
    sink.value("validation_loss", loss, "nats/token", QUENCH_LOWER_IS_BETTER,
               standard_error_of(means, loss));
    sink.detail("tokens", static_cast<double>(ids));
    sink.detail("scored", static_cast<double>(blocks * (block_ - 1)));
    sink.detail("blocks", static_cast<double>(blocks));
    sink.detail("perplexity", std::exp(loss));
    if (const uint64_t bytes = bytes_of(tokens); bytes > 0) {
      sink.detail("bits_per_byte",
                  loss / std::log(2.0) * static_cast<double>(ids) / static_cast<double>(bytes));
    }
    if (const std::string documents = by_document(nll, tokens, block_); !documents.empty()) {
      sink.json("documents", documents);
    }
    sink.items("block_nll", means);
  }

 private:
  uint64_t block_;
};

}  // namespace

}  // namespace quench::metrics

QUENCH_MODULE("quench.validation_loss", "0.1.0",
              quench::kit::metric<quench::metrics::ValidationLoss>(
                  {.id = "validation_loss",
                   .version = "0.1.0",
                   .summary = "Mean cross entropy per token over non-overlapping blocks, of which "
                              "the perplexity is the exponential."}))
