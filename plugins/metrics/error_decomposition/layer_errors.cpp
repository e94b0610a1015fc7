#include "metrics/error_decomposition/layer_errors.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "metrics/stream/residual_stream.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::metrics {

namespace {

constexpr int64_t kBatchTokens = 2048;
constexpr int64_t kStreamBytes = int64_t{256} << 20;  // all residual streams together

// Rows first .. first+count-1 of the text, run through both models.
struct Pair {
  int64_t first;
  int64_t count;
  ResidualStream floating;
  ResidualStream quantized;
};

class Walk {
 public:
  Walk(const quench_subject& subject, WeightSwap& swap, const int32_t* ids, int64_t blocks,
       int64_t block)
      : subject_(subject), swap_(swap), ids_(ids), blocks_(blocks), block_(block) {
    quench_error error{sizeof error, 0, {}};
    info_.struct_size = sizeof info_;
    kit::check(subject.table->info(subject.model, &info_, &error), error);
    found_.layers.resize(info_.blocks);
    found_.residual.resize(info_.blocks);
    found_.last_error.resize(static_cast<size_t>(blocks));
    found_.last_size.resize(static_cast<size_t>(blocks));
  }

  LayerErrors run() {
    const int64_t row_bytes = 3 * block_ * info_.width * kit::bytes_of(info_.dtype);
    const int64_t chunk = std::max<int64_t>(1, kStreamBytes / row_bytes);
    for (int64_t first = 0; first < blocks_; first += chunk) {
      run_chunk(first, std::min(chunk, blocks_ - first));
    }
    return std::move(found_);
  }

 private:
  void run_chunk(int64_t first, int64_t count) {
    std::vector<Pair> pairs;
    const int64_t fit = std::max<int64_t>(1, kBatchTokens / block_);
    for (int64_t row = first; row < first + count; row += fit) {
      const int64_t rows = std::min(fit, first + count - row);
      const std::span<const int32_t> ids(ids_ + row * block_, static_cast<size_t>(rows * block_));
      pairs.push_back({row, rows, {subject_, ids, rows, block_}, {subject_, ids, rows, block_}});
    }
    embed(pairs);
    for (uint32_t b = 0; b < info_.blocks; ++b) {
      run_block(b, pairs);
    }
  }

  void embed(std::vector<Pair>& pairs) {
    for (const bool floating : {true, false}) {
      swap_.set(WeightSwap::kOutside, floating);
      for (Pair& pair : pairs) {
        kit::check_cancelled();
        (floating ? pair.floating : pair.quantized).embed();
      }
    }
    for (const Pair& pair : pairs) {
      const std::vector<double> h = values_of(pair.floating);
      const std::vector<double> moved = values_of(pair.quantized);
      for (size_t i = 0; i < h.size(); ++i) {
        found_.embedding.size += h[i] * h[i];
        found_.embedding.error += (moved[i] - h[i]) * (moved[i] - h[i]);
      }
    }
  }

  void run_block(uint32_t b, std::vector<Pair>& pairs) {
    std::vector<ResidualStream> between;  // the float block, from the quantized model's input
    swap_.set(b, /*floating=*/true);
    for (Pair& pair : pairs) {
      kit::check_cancelled();
      pair.floating.block(b);
      between.push_back(pair.quantized.copied());
      between.back().block(b);
    }
    swap_.set(b, /*floating=*/false);
    for (size_t i = 0; i < pairs.size(); ++i) {
      kit::check_cancelled();
      pairs[i].quantized.block(b);
      add(b, pairs[i], values_of(between[i]));
    }
  }

  void add(uint32_t b, const Pair& pair, const std::vector<double>& g) {
    const std::vector<double> h = values_of(pair.floating);
    const std::vector<double> moved = values_of(pair.quantized);
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
    if (b + 1 == info_.blocks) {
      found_.last_error[text_block] = sums.error;
      found_.last_size[text_block] = sums.size;
    }
  }

  static std::vector<double> values_of(const ResidualStream& stream) {
    std::vector<char> bytes = stream.residual().bytes();
    quench_tensor view = stream.residual().view();
    view.data = bytes.data();
    view.device = {QUENCH_DEVICE_CPU, 0};
    return kit::to_doubles(view, "residual stream");
  }

  const quench_subject& subject_;
  WeightSwap& swap_;
  const int32_t* ids_;
  int64_t blocks_;
  int64_t block_;
  quench_model_info info_{};
  LayerErrors found_;
};

}  // namespace

LayerErrors layer_errors(const quench_subject& subject, WeightSwap& swap, const int32_t* ids,
                         int64_t blocks, int64_t block) {
  return Walk(subject, swap, ids, blocks, block).run();
}

}  // namespace quench::metrics
