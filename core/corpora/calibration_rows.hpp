// What a quantizer or a transform is shown.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace quench {

// Rows of calibration ids: row r is ids[starts[r] .. starts[r+1]).
struct CalibrationRows {
  std::vector<int32_t> ids;
  std::vector<uint64_t> starts;
  // Of row r, the ids before its padding, which counts in all statistics; empty: no row has any.
  std::vector<uint64_t> texts = {};

  uint64_t pads() const {
    const uint64_t text = std::accumulate(texts.begin(), texts.end(), uint64_t{0});
    return texts.empty() ? 0 : ids.size() - text;
  }
};

}  // namespace quench
