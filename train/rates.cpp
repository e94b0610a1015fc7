#include "train/rates.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/error.hpp"
#include "core/io/sha256.hpp"

namespace quench {

namespace {

using Shape = LearningRateSchedule::Shape;

// Number of updates in the final decay.
int64_t decaying(const LearningRateSchedule& schedule) {
  switch (schedule.shape) {
    case Shape::kConstant:
      return 0;
    case Shape::kWsd:
      return schedule.decay_steps;
    case Shape::kLinear:
    case Shape::kCosine:
      return *schedule.steps - schedule.warmup;
  }
  return 0;
}

// 1 at the beginning of the decay, 0 at its end; t in [0, 1].
double remaining(const LearningRateSchedule& schedule, double t) {
  if (schedule.shape == Shape::kCosine) {
    return 0.5 * (1 + std::cos(std::numbers::pi * t));
  }
  return schedule.decays_with_square_root ? 1 - std::sqrt(t) : 1 - t;
}

}  // namespace

double rate_of_update(const LearningRateSchedule& schedule, int64_t step) {
  if (step <= schedule.warmup) {
    return schedule.peak * static_cast<double>(step) / static_cast<double>(schedule.warmup);
  }
  const int64_t length = decaying(schedule);
  const int64_t into = step - (schedule.steps.value_or(step) - length);
  if (length == 0 || into <= 0) {
    return schedule.peak;
  }
  const double t = std::min(1.0, static_cast<double>(into) / static_cast<double>(length + 1));
  return schedule.final + (schedule.peak - schedule.final) * remaining(schedule, t);
}

std::string phase_of_update(const LearningRateSchedule& schedule, int64_t step) {
  if (step <= schedule.warmup) {
    return "warmup";
  }
  const int64_t length = decaying(schedule);
  return length == 0 || step <= *schedule.steps - length ? "constant" : "decay";
}

StateKeys::StateKeys(std::string recipe, const LearningRateSchedule& schedule)
    : schedule_(schedule), blocks_{std::move(recipe)} {
  for (int64_t block = 0; block < *schedule.steps / kBlock; ++block) {
    blocks_.push_back(
        sha256_hex(blocks_.back() + rates_of(block * kBlock + 1, (block + 1) * kBlock)));
  }
}

std::string StateKeys::rates_of(int64_t first, int64_t last) const {
  std::string out;
  for (int64_t step = first; step <= last; ++step) {
    const auto bits = std::bit_cast<uint64_t>(rate_of_update(schedule_, step));
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
  return sha256_hex(fmt::format("{} {} ", blocks_[block], step) +
                    rates_of(static_cast<int64_t>(block) * kBlock + 1, step));
}

}  // namespace quench
