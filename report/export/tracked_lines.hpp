// Converts the records of a run to the form of experiment trackers: lines of values over steps.
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
  nlohmann::json about;  // {branch, averaging, quantizer, environment}: what all points share
  std::vector<TrackedPoint> points;  // by tag, then step; one value per step
};

// Lines by name. The step of a point is the checkpoint's training step if all checkpoints of the
// run have one, else its index in the order of the records. Leaves out failed cells and values that
// are not numbers.
std::vector<TrackedLine> tracked_lines(const std::vector<Record>& records);

}  // namespace quench
