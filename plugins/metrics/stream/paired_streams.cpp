#include "metrics/stream/paired_streams.hpp"

#include <algorithm>
#include <span>

#include "quench/kit/error.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::metrics {

namespace {

constexpr int64_t kBatchTokens = 2048;
constexpr int64_t kStreamBytes = int64_t{256} << 20;  // all residual streams together

}  // namespace

PairedStreams::PairedStreams(const quench_subject& subject, WeightSwap& swap, const int32_t* ids,
                             int64_t blocks, int64_t block)
    : subject_(subject), swap_(swap), ids_(ids), blocks_(blocks), block_(block) {
  quench_error error{sizeof error, 0, {}};
  info_.struct_size = sizeof info_;
  kit::check(subject.table->info(subject.model, &info_, &error), error);
}

std::vector<StreamPair> PairedStreams::pairs_of(int64_t first, int64_t count) const {
  std::vector<StreamPair> out;
  const int64_t fit = std::max<int64_t>(1, kBatchTokens / block_);
  for (int64_t row = first; row < first + count; row += fit) {
    const int64_t rows = std::min(fit, first + count - row);
    const std::span<const int32_t> ids(ids_ + row * block_, static_cast<size_t>(rows * block_));
    out.push_back({row, rows, {subject_, ids, rows, block_}, {subject_, ids, rows, block_}});
  }
  return out;
}

void PairedStreams::each_chunk(int64_t streams,
                               const std::function<void(std::vector<StreamPair>&)>& work) {
  const int64_t row_bytes = streams * block_ * info_.width * kit::bytes_of(info_.dtype);
  const int64_t chunk = std::max<int64_t>(1, kStreamBytes / row_bytes);
  for (int64_t first = 0; first < blocks_; first += chunk) {
    std::vector<StreamPair> pairs = pairs_of(first, std::min(chunk, blocks_ - first));
    work(pairs);
  }
}

void PairedStreams::both(int64_t block, std::vector<StreamPair>& pairs,
                         const std::function<void(ResidualStream&)>& step) {
  for (const bool floating : {true, false}) {
    swap_.set(block, floating);
    for (StreamPair& pair : pairs) {
      kit::check_cancelled();
      step(floating ? pair.floating : pair.quantized);
    }
  }
}

std::vector<double> doubles_of(const Buffer& buffer) {
  std::vector<char> bytes = buffer.bytes();
  quench_tensor view = buffer.view();
  view.data = bytes.data();
  view.device = {QUENCH_DEVICE_CPU, 0};
  return kit::to_doubles(view, "residual stream");
}

}  // namespace quench::metrics
