// divergence: how far the quantized model's predictions are from the float model's, token by token.
//
// | parameter | type   | default  | range | meaning                                   |
// |-----------|--------|----------|-------|-------------------------------------------|
// | corpus    | corpus | required |       | the text on which the models are compared |
// | block     | int    | 2048     | >= 2  | ids per block, each block its own context |
//
//   - divergence: {corpus: refinedweb, block: 2048}
//
// Like validation_loss, it joins the ids of all documents and cuts them into blocks of B ids. At
// each of the first B−1 positions of a block it compares two distributions of the next id given the
// same text, p of the float model and q of the quantized model:
//
//   KL(p‖q) = Σ p (log p − log q)      in nats per token, mean over all positions
//
// with float64 sums. `divergence/top1_agreement` is the share of positions where both models rank
// the same id first. Standard errors are those of the mean over blocks. Details: blocks, scored,
// `largest` (the largest KL at one position), `residual_errors` (the error of the residual stream
// after each block of the model, ‖ĥ − h‖/‖h‖ over all positions) and `weight_errors` (‖ŵ − w‖/‖w‖
// of each parameter that quantization changed). The items `kl` are the blocks' means.
//
// Both models run side by side, layer by layer, as one model whose weights are swapped. Rows go
// through in batches of 2048 ids, as many at a time as fit in 256 MB of residual stream.
#include <algorithm>
#include <cmath>

#include "metrics/divergence/row_divergence.hpp"
#include "metrics/stream/paired_streams.hpp"
#include "quench/kit/metric.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::metrics {

namespace {

constexpr int64_t kLogitBytes = int64_t{64} << 20;  // one model's logits at a time

// Sums over positions, per text block and per layer.
struct Totals {
  std::vector<double> kl;          // [text blocks]
  std::vector<double> agreement;   // [text blocks]: positions where both rank the same id first
  std::vector<double> difference;  // [layers]: Σ (ĥ − h)²
  std::vector<double> size;        // [layers]: Σ h²
  double largest = 0;
};

class Comparison {
 public:
  Comparison(const quench_subject& subject, WeightSwap& swap, const int32_t* ids, int64_t blocks,
             int64_t block)
      : subject_(subject),
        swap_(swap),
        block_(block),
        streams_(subject, swap, ids, blocks, block),
        info_(streams_.info()) {
    totals_.kl.resize(static_cast<size_t>(blocks));
    totals_.agreement.resize(static_cast<size_t>(blocks));
    totals_.difference.resize(info_.blocks);
    totals_.size.resize(info_.blocks);
  }

  const Totals& run() {
    streams_.each_chunk(2, [&](std::vector<StreamPair>& pairs) { run_chunk(pairs); });
    return totals_;
  }

 private:
  void run_chunk(std::vector<StreamPair>& pairs) {
    streams_.both(WeightSwap::kOutside, pairs, [](ResidualStream& stream) { stream.embed(); });
    for (uint32_t b = 0; b < info_.blocks; ++b) {
      streams_.both(b, pairs, [b](ResidualStream& stream) { stream.block(b); });
      for (const StreamPair& pair : pairs) {
        add_layer(b, pair);
      }
    }
    for (const StreamPair& pair : pairs) {
      add_predictions(pair);
    }
  }

  void add_layer(uint32_t layer, const StreamPair& pair) {
    const std::vector<double> h = doubles_of(pair.floating.residual());
    const std::vector<double> moved = doubles_of(pair.quantized.residual());
    double difference = 0;
    double size = 0;
    for (size_t i = 0; i < h.size(); ++i) {
      difference += (moved[i] - h[i]) * (moved[i] - h[i]);
      size += h[i] * h[i];
    }
    totals_.difference[layer] += difference;
    totals_.size[layer] += size;
  }

  // Logits of `count` rows of the residual stream from row `first` on, in float32 or float64.
  std::vector<char> logits(const Buffer& residual, int64_t first, int64_t count, bool floating) {
    swap_.set(WeightSwap::kOutside, floating);
    const Buffer out(subject_, info_, info_.dtype, {count, info_.vocabulary});
    quench_tensor h = residual.view();
    const int64_t shape[2] = {count, info_.width};
    h.data = static_cast<char*>(h.data) + first * info_.width * kit::bytes_of(info_.dtype);
    h.shape = shape;
    const quench_tensor to = out.view();
    quench_error error{sizeof error, 0, {}};
    kit::check(subject_.table->logits(subject_.model, &h, &to, nullptr, &error), error);
    if (kit::same(info_.dtype, kit::kFloat32) || kit::same(info_.dtype, kit::kFloat64)) {
      return out.bytes();
    }
    const std::vector<double> wide = doubles_of(out);
    std::vector<char> narrow(wide.size() * sizeof(float));
    std::copy(wide.begin(), wide.end(), reinterpret_cast<float*>(narrow.data()));
    return narrow;
  }

  void add_predictions(const StreamPair& pair) {
    const int64_t positions = pair.count * block_;
    const int64_t rows = std::max<int64_t>(1, kLogitBytes / (8 * info_.vocabulary));
    for (int64_t first = 0; first < positions; first += rows) {
      kit::check_cancelled();
      const int64_t count = std::min(rows, positions - first);
      const std::vector<char> p = logits(pair.floating.residual(), first, count, true);
      const std::vector<char> q = logits(pair.quantized.residual(), first, count, false);
      std::vector<RowDivergence> found(static_cast<size_t>(count));
      kit::parallel_for(static_cast<uint64_t>(count), 16, [&](uint64_t begin, uint64_t end) {
        for (uint64_t r = begin; r < end; ++r) {
          found[r] = kit::same(info_.dtype, kit::kFloat64) ? compared<double>(p, q, r)
                                                           : compared<float>(p, q, r);
        }
      });
      for (int64_t r = 0; r < count; ++r) {
        add(pair.first + (first + r) / block_, (first + r) % block_, found[static_cast<size_t>(r)]);
      }
    }
  }

  template <typename T>
  RowDivergence compared(const std::vector<char>& p, const std::vector<char>& q,
                         uint64_t row) const {
    const auto width = static_cast<size_t>(info_.vocabulary);
    return row_divergence(std::span(reinterpret_cast<const T*>(p.data()) + row * width, width),
                          std::span(reinterpret_cast<const T*>(q.data()) + row * width, width));
  }

  void add(int64_t block, int64_t position, const RowDivergence& found) {
    if (position == block_ - 1) {
      return;  // the rest of the block does not follow from it
    }
    if (!std::isfinite(found.kl)) {
      kit::fail(QUENCH_NUMERICAL, "block %lld, position %lld: the divergence is %g",
                static_cast<long long>(block), static_cast<long long>(position + 1), found.kl);
    }
    totals_.kl[static_cast<size_t>(block)] += found.kl;
    totals_.agreement[static_cast<size_t>(block)] += found.same_top ? 1 : 0;
    totals_.largest = std::max(totals_.largest, found.kl);
  }

  const quench_subject& subject_;
  WeightSwap& swap_;
  int64_t block_;
  PairedStreams streams_;
  quench_model_info info_;
  Totals totals_;
};

struct Mean {
  double mean = 0;
  double error = std::nan("");
};

// The mean over blocks, with its standard error.
Mean mean_of(std::vector<double>& sums, double positions) {
  Mean out;
  for (double& sum : sums) {
    sum /= positions;
    out.mean += sum;
  }
  const auto count = static_cast<double>(sums.size());
  out.mean /= count;
  double squares = 0;
  for (const double sum : sums) {
    squares += (sum - out.mean) * (sum - out.mean);
  }
  if (sums.size() > 1) {
    out.error = std::sqrt(squares / (count - 1) / count);
  }
  return out;
}

class Divergence final : public kit::Metric {
 public:
  struct Params {
    kit::CorpusName corpus;
    int64_t block = 2048;
    static void describe(kit::Fields<Params>& f) {
      f.add("corpus", &Params::corpus, "the text on which the two models are compared").required();
      f.add("block", &Params::block, "ids per block (B), each block its own context").at_least(2);
    }
  };

  explicit Divergence(const Params& params) : block_(params.block) {}

  uint32_t needs() const override { return QUENCH_METRIC_NEEDS_FLOAT; }
  void fits(const quench_model_info& model) const override {
    kit::check_context("block", block_, model);
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    const quench_tokens& tokens = evaluation.tokens("corpus");
    const uint64_t ids = tokens.offsets[tokens.documents];
    const int64_t blocks = static_cast<int64_t>(ids) / block_;
    if (blocks == 0) {
      kit::fail(QUENCH_FAILED_PRECONDITION,
                "corpus `%s` is smaller than one block: got %llu ids, wanted at least %lld",
                tokens.corpus, static_cast<unsigned long long>(ids),
                static_cast<long long>(block_));
    }
    if (evaluation.weights().empty()) {
      kit::fail(QUENCH_FAILED_PRECONDITION, "wanted a quantized model and its float weights");
    }
    WeightSwap swap(evaluation.subject(), evaluation.weights()[0]);
    Totals totals = Comparison(evaluation.subject(), swap, tokens.ids, blocks, block_).run();
    const auto positions = static_cast<double>(block_ - 1);
    const Mean kl = mean_of(totals.kl, positions);
    const Mean agreement = mean_of(totals.agreement, positions);
    sink.value("divergence", kl.mean, "nats", QUENCH_LOWER_IS_BETTER, kl.error);
    sink.value("top1_agreement", agreement.mean, "1", QUENCH_HIGHER_IS_BETTER, agreement.error);
    sink.detail("blocks", static_cast<double>(blocks));
    sink.detail("scored", static_cast<double>(blocks) * positions);
    sink.detail("largest", totals.largest);
    std::string text;
    for (size_t layer = 0; layer < totals.size.size(); ++layer) {
      text += (layer > 0 ? "," : "") +
              kit::detail::json_text(std::sqrt(totals.difference[layer] / totals.size[layer]));
    }
    sink.json("residual_errors", "[" + text + "]");
    text.clear();
    for (const WeightSwap::Error& error : swap.errors()) {
      text += (text.empty() ? "" : ",") + kit::detail::json_text(error.name) + ":" +
              kit::detail::json_text(error.relative);
    }
    sink.json("weight_errors", "{" + text + "}");
    sink.items("kl", totals.kl);
  }

 private:
  int64_t block_;
};

}  // namespace

}  // namespace quench::metrics

QUENCH_MODULE("quench.divergence", "0.1.0",
              quench::kit::metric<quench::metrics::Divergence>(
                  {.id = "divergence",
                   .version = "0.1.0",
                   .summary = "How far the quantized model's predictions are from the float "
                              "model's, token by token and layer by layer.",
                   .example = "{corpus: refinedweb, block: 2048}"}))
