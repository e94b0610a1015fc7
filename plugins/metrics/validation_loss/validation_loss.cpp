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

#include "metrics/shared/block_loss.hpp"
#include "quench/kit/metric.hpp"

namespace quench::metrics {

namespace {

constexpr uint64_t kMostDocuments = 4096;  // beyond them a record would outgrow its items

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
    const TextBlocks text = text_blocks(tokens, block_);
    const std::vector<double> nll = scored_nll(evaluation, text);
    const std::vector<double> means = block_means(nll, block_);
    const double loss = mean_of(means);
    sink.value("validation_loss", loss, "nats/token", QUENCH_LOWER_IS_BETTER,
               standard_error_of(means, loss));
    const auto ids = static_cast<double>(tokens.offsets[tokens.documents]);
    sink.detail("tokens", ids);
    sink.detail("scored", static_cast<double>(text.blocks * (block_ - 1)));
    sink.detail("blocks", static_cast<double>(text.blocks));
    sink.detail("perplexity", std::exp(loss));
    if (const uint64_t bytes = bytes_of(tokens); bytes > 0) {
      sink.detail("bits_per_byte", loss / std::log(2.0) * ids / static_cast<double>(bytes));
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
