// Records of a small run, for tests of exports.
#pragma once

#include <vector>

#include "core/store/record.hpp"

namespace quench::test {

inline Record tracked_record(int64_t step, bool quantized, const char* metric, double value) {
  Record record;
  record.checkpoint = {{"model", "m"},
                       {"revision", "step" + std::to_string(step)},
                       {"branch", nullptr},
                       {"step", step}};
  record.averaging = nullptr;
  record.quantizer = nullptr;
  if (quantized) {
    record.quantizer = {{"id", "rtn"}, {"label", "rtn bits=3"}, {"params", {{"bits", 3}}}};
  }
  record.metric = metric;
  record.label = "validation_loss block=128";
  record.value = value;
  record.environment = {{"seed", 0}};
  return record;
}

// Two checkpoints, float and quantized, with the error.
inline std::vector<Record> tracked_records() {
  return {tracked_record(100, false, "validation_loss", 4.0),
          tracked_record(100, true, "validation_loss", 4.5),
          tracked_record(100, true, "quantization_error", 0.125),
          tracked_record(200, false, "validation_loss", 3.0),
          tracked_record(200, true, "validation_loss", 3.25),
          tracked_record(200, true, "quantization_error", 0.0833)};
}

}  // namespace quench::test
