#include "metrics/error_decomposition/layer_errors.hpp"

#include <cmath>
#include <utility>

#include "metrics/stream/paired_streams.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/host.hpp"

namespace quench::metrics {

namespace {

class Walk {
 public:
  Walk(const quench_subject& subject, WeightSwap& swap, const int32_t* ids, int64_t blocks,
       int64_t block)
      : swap_(swap), streams_(subject, swap, ids, blocks, block) {
    found_.layers.resize(streams_.info().blocks);
    found_.residual.resize(streams_.info().blocks);
    found_.last_error.resize(static_cast<size_t>(blocks));
    found_.last_size.resize(static_cast<size_t>(blocks));
  }

  LayerErrors run() {
    streams_.each_chunk(3, [&](std::vector<StreamPair>& pairs) {
      embed(pairs);
      for (uint32_t b = 0; b < streams_.info().blocks; ++b) {
        run_block(b, pairs);
      }
    });
    return std::move(found_);
  }

 private:
  void embed(std::vector<StreamPair>& pairs) {
    streams_.both(WeightSwap::kOutside, pairs, [](ResidualStream& stream) { stream.embed(); });
    for (const StreamPair& pair : pairs) {
      const std::vector<double> h = doubles_of(pair.floating.residual());
      const std::vector<double> moved = doubles_of(pair.quantized.residual());
      for (size_t i = 0; i < h.size(); ++i) {
        found_.embedding.size += h[i] * h[i];
        found_.embedding.error += (moved[i] - h[i]) * (moved[i] - h[i]);
      }
    }
  }

  void run_block(uint32_t b, std::vector<StreamPair>& pairs) {
    std::vector<ResidualStream> between;  // the float block, from the quantized model's input
    swap_.set(b, /*floating=*/true);
    for (StreamPair& pair : pairs) {
      kit::check_cancelled();
      pair.floating.block(b);
      between.push_back(pair.quantized.copied());
      between.back().block(b);
    }
    swap_.set(b, /*floating=*/false);
    for (size_t i = 0; i < pairs.size(); ++i) {
      kit::check_cancelled();
      pairs[i].quantized.block(b);
      add(b, pairs[i], doubles_of(between[i].residual()));
    }
  }

  void add(uint32_t b, const StreamPair& pair, const std::vector<double>& g) {
    const std::vector<double> h = doubles_of(pair.floating.residual());
    const std::vector<double> moved = doubles_of(pair.quantized.residual());
    const size_t row = h.size() / static_cast<size_t>(pair.count);
    for (size_t r = 0; r < static_cast<size_t>(pair.count); ++r) {
      LayerSums sums;
      for (size_t i = r * row; i < (r + 1) * row; ++i) {
        const double accumulated = g[i] - h[i];
        const double added = moved[i] - g[i];
        sums.size += h[i] * h[i];
        sums.error += (moved[i] - h[i]) * (moved[i] - h[i]);
        sums.accumulated += accumulated * accumulated;
        sums.added += added * added;
        sums.product += accumulated * added;
      }
      take(b, static_cast<size_t>(pair.first) + r, sums);
    }
    found_.residual[b].add(h);
  }

  void take(uint32_t b, size_t text_block, const LayerSums& sums) {
    if (!std::isfinite(sums.size) || !std::isfinite(sums.error) ||
        !std::isfinite(sums.accumulated)) {
      kit::fail(QUENCH_NUMERICAL,
                "block %zu of the text: the residual stream is not finite after block %u of the "
                "model",
                text_block, b);
    }
    LayerSums& to = found_.layers[b];
    to.size += sums.size;
    to.error += sums.error;
    to.accumulated += sums.accumulated;
    to.added += sums.added;
    to.product += sums.product;
    if (b + 1 == streams_.info().blocks) {
      found_.last_error[text_block] = sums.error;
      found_.last_size[text_block] = sums.size;
    }
  }

  WeightSwap& swap_;
  PairedStreams streams_;
  LayerErrors found_;
};

}  // namespace

LayerErrors layer_errors(const quench_subject& subject, WeightSwap& swap, const int32_t* ids,
                         int64_t blocks, int64_t block) {
  return Walk(subject, swap, ids, blocks, block).run();
}

}  // namespace quench::metrics
