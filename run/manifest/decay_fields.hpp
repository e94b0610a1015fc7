// The keys of a decay: of a schedule under `lr`, and of a fork.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/arithmetic/learning_rate.hpp"
#include "core/base/config/problems.hpp"
#include "run/manifest/fields.hpp"

namespace quench {

// The words of the key `decay`.
const std::vector<std::pair<std::string, LearningRateSchedule::Decay>>& decay_shapes();

template <typename Section>
using ScheduleOf = LearningRateSchedule& (*)(Section&);

// Its shape, where the schedule does not say it.
template <typename Section>
void add_decay_shape(Fields<Section>& f, ScheduleOf<Section> of) {
  f.choice(
      "decay", [of](Section & out) -> auto& { return of(out).decay; }, decay_shapes());
  f.number(
       "decay_power", [of](Section & out) -> auto& { return of(out).decay_power; },
       "p of the decay `power`: 1 - t^p")
      .without("minimum")
      .schema({{"exclusiveMinimum", 0}});
}

// Its restarts.
template <typename Section>
void add_cycles(Fields<Section>& f, ScheduleOf<Section> of) {
  f.amount(
      "cycle_steps", [of](Section & out) -> auto& { return of(out).cycle_steps; },
      "Steps from one restart of the decay at the peak to the next; 0: no restarts");
  f.number(
       "cycle_factor", [of](Section & out) -> auto& { return of(out).cycle_factor; },
       "Peak of a cycle, as a share of the one before")
      .without("minimum")
      .schema({{"exclusiveMinimum", 0}, {"maximum", 1}});
}

// Adds what is wrong between these keys of `node`; of a schedule that decays.
void check_decay(const YamlNode& node, const std::string& where,
                 const LearningRateSchedule& schedule, Problems& problems);

}  // namespace quench
