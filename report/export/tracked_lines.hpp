// The records of a run as trackers of experiments have them: lines of values over steps.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

struct TrackedPoint {
  std::string tag;  // "validation_loss block=128", "quantization_error/validation_loss block=128"
  int64_t step = 0;
  double value = 0;
};

// One variant (the float model, or one quantizer) of one branch.
struct TrackedLine {
  std::string name;      // "main/float", "main/gptq bits=3", parts joined by '/'
  nlohmann::json about;  // {branch, averaging, quantizer, environment}: what they have in common
  std::vector<TrackedPoint> points;  // by tag, then step; one value for each
};

// Lines by name. A step is a checkpoint's step of training where all checkpoints of the run have
// one, else its place in the order of the records. Failed cells and values that are no numbers are
// left out.
std::vector<TrackedLine> tracked_lines(const std::vector<Record>& records);

}  // namespace quench
