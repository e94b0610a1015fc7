// What a quantizer or a transform is shown.
#pragma once

#include <cstdint>
#include <vector>

namespace quench {

// Rows of calibration ids: row r is ids[starts[r] .. starts[r+1]).
struct CalibrationRows {
  std::vector<int32_t> ids;
  std::vector<uint64_t> starts;
};

}  // namespace quench
