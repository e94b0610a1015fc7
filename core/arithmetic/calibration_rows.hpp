// The token ids that a quantizer or a transform calibrates on.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace quench {

// Sequences of calibration ids: sequence r is ids[starts[r] .. starts[r+1]).
struct CalibrationRows {
  std::vector<int32_t> ids;
  std::vector<uint64_t> starts;
  // [sequence] ids before the padding, which counts in all statistics; empty: no padding.
  std::vector<uint64_t> texts = {};

  uint64_t pads() const {
    const uint64_t text = std::accumulate(texts.begin(), texts.end(), uint64_t{0});
    return texts.empty() ? 0 : ids.size() - text;
  }
};

// `count` sequences of `length` ids each, consecutive in `ids`.
CalibrationRows rows_of_sequences(std::span<const int32_t> ids, uint64_t count, uint64_t length);

// One sequence per document ids[offsets[d] .. offsets[d+1]), of at most `limit` ids; none for an
// empty document.
CalibrationRows rows_of_documents(std::span<const int32_t> ids, std::span<const uint64_t> offsets,
                                  uint64_t limit);

// Pads each sequence at its end to the longest of its batch of `batch` sequences.
CalibrationRows padded_rows(const CalibrationRows& rows, uint64_t batch, int32_t pad_id);

// Shuffles the sequences (Fisher and Yates) with random numbers from Philox blocks.
CalibrationRows shuffled_rows(const CalibrationRows& rows, uint64_t seed, uint32_t order);

}  // namespace quench
