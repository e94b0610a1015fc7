// Keys of the states of a training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/arithmetic/learning_rate.hpp"

namespace quench {

// What a fork changes of the recipe.
struct RecipeChange {
  int64_t after = 0;  // the last step that follows the recipe itself
  std::string what;   // such as "order 3 "
};

// The keys of the states along one schedule. States with the same recipe, the same rates and the
// same data up to a step have the same key, whatever comes later. Steps are hashed in blocks, so
// computing a key costs at most one block.
class StateKeys {
 public:
  StateKeys(std::string recipe, const LearningRateSchedule& schedule,
            std::optional<RecipeChange> change = std::nullopt);
  // 64 hexadecimal digits.
  std::string at(int64_t step) const;

 private:
  static constexpr int64_t kBlock = 256;
  std::string rates_of(int64_t first, int64_t last) const;  // as bytes

  LearningRateSchedule schedule_;
  std::optional<RecipeChange> change_;
  std::vector<std::string> blocks_;  // [i]: all updates of the first i blocks
};

}  // namespace quench
