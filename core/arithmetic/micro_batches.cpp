#include "core/arithmetic/micro_batches.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace quench {

int64_t micro_batch_tokens_on_gpu(int64_t widest) {
  constexpr uint64_t kOutputs = uint64_t{1} << 27;
  const uint64_t fit = kOutputs / static_cast<uint64_t>(std::max<int64_t>(widest, 1));
  return std::clamp(static_cast<int64_t>(std::bit_floor(fit)), kMicroBatchTokens,
                    16 * kMicroBatchTokens);
}

std::vector<MicroBatch> plan_micro_batches(std::span<const uint64_t> starts, int64_t tokens) {
  std::map<uint64_t, std::vector<uint64_t>> by_length;
  for (uint64_t row = 0; row + 1 < starts.size(); ++row) {
    by_length[starts[row + 1] - starts[row]].push_back(row);
  }
  std::vector<MicroBatch> batches;
  for (const auto& [length, rows] : by_length) {
    if (length == 0) {
      continue;  // an empty sequence needs no computation
    }
    const size_t fit = std::max<size_t>(1, static_cast<uint64_t>(tokens) / length);
    for (size_t first = 0; first < rows.size(); first += fit) {
      const size_t last = std::min(rows.size(), first + fit);
      batches.push_back({{rows.begin() + static_cast<ptrdiff_t>(first),
                          rows.begin() + static_cast<ptrdiff_t>(last)},
                         static_cast<int64_t>(length)});
    }
  }
  return batches;
}

}  // namespace quench
