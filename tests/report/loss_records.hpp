// Records of losses with as few words as possible, for cases that are worked by hand.
#pragma once

#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench::test {

// A float loss of checkpoint `revision` of `branch`; its value is the mean of `items`.
Record float_loss(const std::string& branch, const std::string& revision, int64_t step,
                  const std::vector<double>& items);
// The same under a quantizer: each item is the float one plus the same entry of `deltas`.
Record quantized_loss(const Record& floating, const std::string& id, int bits,
                      const std::vector<double>& deltas);
// The same again as draw `draw` and order `jitter` of a calibrated method.
Record replicate(Record record, uint32_t draw, uint32_t jitter);

}  // namespace quench::test
