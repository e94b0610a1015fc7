// Names for the states of a training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/arithmetic/learning_rate.hpp"

namespace quench {

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
