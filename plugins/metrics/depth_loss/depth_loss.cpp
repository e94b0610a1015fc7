// depth_loss: the loss with the first k blocks of the model quantized and the others float.
//
// | parameter | type   | default  | range | meaning                                   |
// |-----------|--------|----------|-------|-------------------------------------------|
// | corpus    | corpus | required |       | the text that is predicted                |
// | block     | int    | 2048     | >= 2  | ids per block, each block its own context |
//
//   - depth_loss: {corpus: refinedweb, block: 2048}
//
// One quantization gives all weights; this puts the float ones back and then the quantized ones in,
// block of the model by block of the model, with a forward after each that changes anything: at
// most two more forwards than the model has blocks. The loss is validation_loss's, the last the
// quantized model's own. Where the loss jumps, the damage enters; a block whose errors later blocks
// undo makes it fall again.
//
// The value is the whole change, L(θ̂) − L(θ), in nats per token. Details: blocks, scored, `float`,
// L(θ); `first`, the loss with the first 1, 2, ... blocks quantized; `outside`, that with what is
// in no block (head, embedding) quantized as well, where it is: the quantized model's. Steps
// between them add up to the value. Its standard error is that of the mean of the text blocks'
// differences.
#include <string>
#include <vector>

#include "metrics/shared/block_loss.hpp"
#include "metrics/shared/weight_swap.hpp"
#include "quench/kit/metric.hpp"

namespace quench::metrics {

namespace {

class DepthLoss final : public kit::Metric {
 public:
  struct Params {
    kit::CorpusName corpus;
    int64_t block = 2048;
    static void describe(kit::Fields<Params>& f) {
      f.add("corpus", &Params::corpus, "the text that is predicted").required();
      f.add("block", &Params::block, "ids per block (B), each block its own context").at_least(2);
    }
  };

  explicit DepthLoss(const Params& params) : block_(static_cast<uint64_t>(params.block)) {}

  uint32_t needs() const override { return QUENCH_METRIC_NEEDS_FLOAT; }
  void fits(const quench_model_info& model) const override {
    kit::check_context("block", static_cast<int64_t>(block_), model);
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    const TextBlocks text = text_blocks(evaluation.tokens("corpus"), block_);
    if (evaluation.weights().empty()) {
      kit::fail(QUENCH_FAILED_PRECONDITION, "wanted a quantized model and its float weights");
    }
    const quench_subject& subject = evaluation.subject();
    quench_model_info info{};
    info.struct_size = sizeof info;
    quench_error error{sizeof error, 0, {}};
    kit::check(subject.table->info(subject.model, &info, &error), error);
    const auto layers = static_cast<int64_t>(info.blocks);

    WeightSwap swap(subject, evaluation.weights()[0]);
    for (int64_t part = WeightSwap::kOutside; part < layers; ++part) {
      swap.set(part, /*floating=*/true);
    }
    const std::vector<double> floating = means_of(evaluation, text);
    std::vector<double> now = floating;
    std::string first;
    for (int64_t b = 0; b < layers; ++b) {
      quantize(swap, b, evaluation, text, now);
      first += (b > 0 ? "," : "") + kit::detail::json_text(mean_of(now));
    }
    const bool outside = swap.changes(WeightSwap::kOutside);
    quantize(swap, WeightSwap::kOutside, evaluation, text, now);

    std::vector<double> differences(now.size());
    for (size_t i = 0; i < now.size(); ++i) {
      differences[i] = now[i] - floating[i];
    }
    // Without a direction, as no loss: reports would want the float model's beside it.
    sink.value("depth_loss", mean_of(now) - mean_of(floating), "nats/token", QUENCH_NO_DIRECTION,
               standard_error_of(differences, mean_of(differences)));
    sink.detail("blocks", static_cast<double>(text.blocks));
    sink.detail("scored", static_cast<double>(text.blocks * (block_ - 1)));
    sink.detail("float", mean_of(floating));
    sink.json("first", "[" + first + "]");
    if (outside) {
      sink.detail("outside", mean_of(now));
    }
    sink.items("block_difference", differences);
  }

 private:
  std::vector<double> means_of(const kit::Evaluation& evaluation, const TextBlocks& text) const {
    kit::check_cancelled();
    return block_means(scored_nll(evaluation, text), block_);
  }

  // Puts the quantized weights of a part in; `means` become those with it.
  void quantize(WeightSwap& swap, int64_t part, const kit::Evaluation& evaluation,
                const TextBlocks& text, std::vector<double>& means) const {
    if (swap.changes(part)) {
      swap.set(part, /*floating=*/false);
      means = means_of(evaluation, text);
    }
  }

  uint64_t block_;
};

}  // namespace

}  // namespace quench::metrics

QUENCH_MODULE(
    "quench.depth_loss", "0.1.0",
    quench::kit::metric<quench::metrics::DepthLoss>(
        {.id = "depth_loss",
         .version = "0.1.0",
         .summary = "The loss with the first blocks of the model quantized, one more at a "
                    "time.",
         .example = "{corpus: refinedweb, block: 2048}"}))
