// The learning rate of each update of a training: every shape of a decay, and restarts.
//
// It stands here and not in core/arithmetic, whose build id is in every key: the rates themselves
// are in the keys of the states that they make, to the bit.
#pragma once

#include <cstdint>

#include "core/arithmetic/learning_rate.hpp"

namespace quench {

// The last step before the decay; the schedule must not be constant.
int64_t decay_start(const LearningRateSchedule& schedule);

// What is left at t in [0, 1] of a decay, or of one of its cycles: 1 at the beginning, 0 at the
// end.
double decay_remaining(const LearningRateSchedule& schedule, double t);

// The rate with which cycle `cycle`, counted from 0, begins: peak·factor^cycle, at least `final`.
double cycle_peak(const LearningRateSchedule& schedule, int64_t cycle);

// The rate of update `step`, counted from 1. Without restarts as rate_of_update has it. With
// restarts after every N updates of the decay, its k-th update, counted from 0, is at
// t = (k mod N)/N of its cycle (SGDR, arXiv 1608.03983), so the first of a cycle has the peak, to
// the bit, and none has rate zero. Beyond the end: `final`.
double update_rate(const LearningRateSchedule& schedule, int64_t step);

}  // namespace quench
