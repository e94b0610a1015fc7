#include "run/manifest/decay_fields.hpp"

#include "train/update_rate.hpp"

namespace quench {

using Decay = LearningRateSchedule::Decay;

const std::vector<std::pair<std::string, Decay>>& decay_shapes() {
  static const std::vector<std::pair<std::string, Decay>> kShapes = {{"linear", Decay::kLinear},
                                                                     {"1-sqrt", Decay::kSquareRoot},
                                                                     {"cosine", Decay::kCosine},
                                                                     {"power", Decay::kPower}};
  return kShapes;
}

void check_decay(const YamlNode& node, const std::string& where,
                 const LearningRateSchedule& schedule, Problems& problems) {
  const auto refuse = [&](const char* key, const std::string& fault) {
    const YamlNode* at = node.find(key);
    problems.add(at != nullptr ? at->place : node.place, where + ": " + fault);
  };
  const bool has_power = node.find("decay_power") != nullptr;
  if (has_power != (schedule.decay == Decay::kPower)) {
    refuse("decay_power", has_power ? "`decay_power` without `decay: power`"
                                    : "`decay: power` asks for `decay_power`");
  } else if (!(schedule.decay_power > 0)) {
    refuse("decay_power",
           fmt::format("`decay_power`: got {}, wanted more than 0", schedule.decay_power));
  }
  if (schedule.cycle_steps == 0) {
    if (node.find("cycle_factor") != nullptr) {
      refuse("cycle_factor", "`cycle_factor` without `cycle_steps`");
    }
    return;
  }
  if (!(schedule.cycle_factor > 0 && schedule.cycle_factor <= 1)) {
    refuse("cycle_factor", fmt::format("`cycle_factor`: got {}, wanted more than 0 and at most 1",
                                       schedule.cycle_factor));
  }
  const int64_t length = *schedule.steps - decay_start(schedule);
  if (schedule.cycle_steps > length) {
    refuse("cycle_steps",
           fmt::format("`cycle_steps`: got {}, wanted at most the {} steps of the decay",
                       schedule.cycle_steps, length));
  }
  if (schedule.final > schedule.peak) {
    refuse("final",
           fmt::format("`final`: got {}, wanted at most the peak, {}, of a decay with restarts",
                       schedule.final, schedule.peak));
  }
}

}  // namespace quench
