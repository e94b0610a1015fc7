// Keys of the states of a training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/arithmetic/learning_rate.hpp"

namespace quench {

// The keys of the states along one schedule. States with the same recipe and the same rates up to a
// step have the same key, whatever comes later. Steps are hashed in blocks, so computing a key
// costs at most one block.
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
