// The learning rate of every update, and names for the states that they lead to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/learning_rate_schedule.hpp"

namespace quench {

// The rate of update `step`, from 1. Warming up, the s-th of W updates has peak·s/W; of D decaying
// updates the k-th lies at t = k/(D + 1) of the decay, so none is spent at a rate of zero (unless
// `final` is), and the last one before the decay is at the peak. Beyond the end: `final`, or the
// peak where the rate does not decay.
double rate_of_update(const LearningRateSchedule& schedule, int64_t step);

// The part of the schedule that an update belongs to: "warmup", "constant" or "decay".
std::string phase_of_update(const LearningRateSchedule& schedule, int64_t step);

// Names of the states along one schedule: what is made of the same recipe by the same rates up to a
// step has the same name, whatever comes after. Steps are hashed in blocks, so a name costs at most
// a block.
class StateKeys {
 public:
  StateKeys(std::string recipe, const LearningRateSchedule& schedule);
  // 64 hexadecimal digits.
  std::string at(int64_t step) const;

 private:
  static constexpr int64_t kBlock = 256;
  std::string rates_of(int64_t first, int64_t last) const;  // as bytes

  LearningRateSchedule schedule_;
  std::vector<std::string> blocks_;  // [i]: all updates of the first i blocks
};

}  // namespace quench
