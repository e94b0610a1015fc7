#include "train/state_keys.hpp"

#include <bit>
#include <utility>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "train/update_rate.hpp"

namespace quench {

StateKeys::StateKeys(std::string recipe, const LearningRateSchedule& schedule,
                     std::optional<RecipeChange> change)
    : schedule_(schedule), change_(std::move(change)), blocks_{std::move(recipe)} {
  for (int64_t block = 0; block < *schedule.steps / kBlock; ++block) {
    blocks_.push_back(
        sha256_hex(blocks_.back() + rates_of(block * kBlock + 1, (block + 1) * kBlock)));
  }
}

std::string StateKeys::rates_of(int64_t first, int64_t last) const {
  std::string out;
  for (int64_t step = first; step <= last; ++step) {
    const auto bits = std::bit_cast<uint64_t>(update_rate(schedule_, step));
    for (int byte = 0; byte < 8; ++byte) {
      out += static_cast<char>(bits >> (8 * byte));
    }
  }
  return out;
}

std::string StateKeys::at(int64_t step) const {
  const auto block = static_cast<size_t>(step / kBlock);
  if (step < 0 || block >= blocks_.size()) {
    fail(QUENCH_INTERNAL, "state keys: no step {}", step);
  }
  const std::string change = change_ && step > change_->after
                                 ? fmt::format("{}after {} ", change_->what, change_->after)
                                 : "";
  return sha256_hex(fmt::format("{} {} {}", blocks_[block], step, change) +
                    rates_of(static_cast<int64_t>(block) * kBlock + 1, step));
}

}  // namespace quench
